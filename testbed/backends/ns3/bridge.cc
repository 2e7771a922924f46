// What has to be fast, or cannot be said in Python: datagrams in and out of ns-3, and its clock.
//
// No Python function is called from ns-3. A datagram that arrives ends `RunUntil`, and Python takes it from there: so no
// exception ever has to leave ns-3's event loop.
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <iostream>
#include <streambuf>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace adhoc {

using namespace ns3;

const uint16_t PORT = 4711;

class Bridge;

// A loss between pairs of stations in addition to that of the models after it: their shadowing, or one that no signal
// survives. A pair without an entry has none, and neither has a node that is no station of ours.
class PairLoss : public PropagationLossModel {
  public:
    void Add(Ptr<MobilityModel> station) { m_numbers[PeekPointer(station)] = m_numbers.size(); }

    void Set(int a, int b, double db) {
        m_losses.resize(m_numbers.size() * m_numbers.size());
        m_losses[a * m_numbers.size() + b] = m_losses[b * m_numbers.size() + a] = db;
    }

  private:
    double DoCalcRxPower(double dbm, Ptr<MobilityModel> a, Ptr<MobilityModel> b) const override {
        if (m_losses.empty()) return dbm;
        auto from = m_numbers.find(PeekPointer(a)), to = m_numbers.find(PeekPointer(b));
        if (from == m_numbers.end() || to == m_numbers.end()) return dbm;
        return dbm - m_losses[from->second * m_numbers.size() + to->second];
    }

    int64_t DoAssignStreams(int64_t) override { return 0; }

    std::unordered_map<const MobilityModel*, size_t> m_numbers;
    std::vector<double> m_losses;
};

// One station: its socket, its radio, and its address.
struct Station {
    Bridge* bridge;
    int number;
    Ptr<Socket> socket;
    Ptr<WifiPhy> radio;
    Address address;

    void Heard(Ptr<Socket> from);
    void Sent(const Ipv4Header& header, Ptr<const Packet> payload, uint32_t interface);
    void Forwarded(const Ipv4Header& header, Ptr<const Packet> payload, uint32_t interface);
};

// So many datagrams, with so many bytes in them.
struct Count {
    uint64_t frames = 0;
    uint64_t bytes = 0;

    void Add(uint64_t size) { ++frames, bytes += size; }
};

class Bridge {
  public:
    // The stations are numbered in the order in which they are added. Each has one Wi-Fi device and one address.
    void Add(Ptr<Node> node, Ptr<NetDevice> device) {
        Ptr<Ipv4> ip = node->GetObject<Ipv4>();
        Ipv4Address address = ip->GetAddress(ip->GetInterfaceForDevice(device), 0).GetLocal();
        Ptr<Socket> socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        socket->BindToNetDevice(device);
        socket->SetAllowBroadcast(true);
        Ptr<WifiPhy> radio = DynamicCast<WifiNetDevice>(device)->GetPhy();
        int number = static_cast<int>(m_stations.size());
        m_stations.push_back({this, number, socket, radio, InetSocketAddress(address, PORT)});
        socket->SetRecvCallback(MakeCallback(&Station::Heard, &m_stations.back()));
        m_pairs->Add(node->GetObject<MobilityModel>());
    }

    // Let every signal pass our losses first. All stations are there, and on one channel.
    void PutPairsFirst() {
        PointerValue models;
        Ptr<Channel> channel = m_stations.at(0).radio->GetChannel();
        channel->GetAttribute("PropagationLossModel", models);
        m_pairs->SetNext(models.Get<PropagationLossModel>());
        DynamicCast<YansWifiChannel>(channel)->SetPropagationLossModel(m_pairs);
    }

    // The loss between two stations, in both directions, in addition to that of the channel's models.
    void SetLoss(int a, int b, double db) { m_pairs->Set(a, b, db); }

    // The loss that a signal has now on its way from one station to another.
    double Loss(int a, int b) const { return -m_pairs->CalcRxPower(0.0, Place(a), Place(b)); }

    Ptr<MobilityModel> Place(int station) const {
        return m_stations.at(station).socket->GetNode()->GetObject<MobilityModel>();
    }

    // Let all radios lose a share of the frames that they would receive, acknowledgements too.
    void Lose(double share, int64_t stream) {
        Ptr<RateErrorModel> losses = CreateObject<RateErrorModel>();
        losses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        losses->SetRate(share);
        losses->AssignStreams(stream);
        for (Station& station : m_stations) station.radio->SetPostReceptionErrorModel(losses);
    }

    // Count what a routing protocol of ns-3 sends: its own messages, which have this port, and our datagrams when other
    // stations than their sender send them on. All stations are there.
    void CountRouting(uint16_t port) {
        m_controlPort = port;
        for (Station& station : m_stations) {
            Ptr<Ipv4L3Protocol> ip = station.socket->GetNode()->GetObject<Ipv4L3Protocol>();
            ip->TraceConnectWithoutContext("SendOutgoing", MakeCallback(&Station::Sent, &station));
            ip->TraceConnectWithoutContext("UnicastForward", MakeCallback(&Station::Forwarded, &station));
        }
    }

    // A station passes a datagram to its radio; `isForwarded` if the datagram is another station's.
    void CountIfOfRouting(const Station& station, Ptr<const Packet> payload, uint8_t protocol, bool isForwarded) {
        UdpHeader udp;
        if (protocol != UdpL4Protocol::PROT_NUMBER || !station.radio || station.radio->IsStateOff()) return;
        uint32_t headerBytes = payload->PeekHeader(udp);
        uint64_t size = payload->GetSize() - headerBytes;
        if (udp.GetDestinationPort() == m_controlPort) control.Add(size);
        else if (isForwarded && udp.GetDestinationPort() == PORT) forwarded.Add(size);
    }

    void ForgetRouting() { control = forwarded = Count(); }

    Count control, forwarded;

    // Put a datagram into the queue of a station's radio, for one other station, or for all (-1).
    void Send(int station, int to, const std::string& data) {
        auto bytes = reinterpret_cast<const uint8_t*>(data.data());
        Ptr<Packet> packet = Create<Packet>(bytes, static_cast<uint32_t>(data.size()));
        m_stations.at(station).socket->SendTo(packet, 0, to < 0 ? m_everyone : m_stations.at(to).address);
    }

    // Let time pass until that time, or until a station hears a datagram. Returns the station, or -1.
    int RunUntil(int64_t ns) {
        if (m_inbox.empty()) {
            EventId end = Simulator::Stop(NanoSeconds(ns) - Simulator::Now());
            Simulator::Run();
            end.Cancel();
        }
        if (m_inbox.empty()) return -1;
        int station = m_inbox.front().first;
        m_datagram = std::move(m_inbox.front().second);
        m_inbox.pop_front();
        return station;
    }

    // The datagram that ended the last `RunUntil`.
    const std::string& Datagram() const { return m_datagram; }

    int64_t Now() const { return Simulator::Now().GetNanoSeconds(); }

    // A radio that is off neither sends nor hears, and what waits in its queue is gone.
    void SetRadio(int station, bool isOn) {
        Ptr<WifiPhy> radio = m_stations.at(station).radio;
        if (isOn == radio->IsStateOff()) isOn ? radio->ResumeFromOff() : radio->SetOffMode();
    }

    // Nothing happens any more: without this, a radio would be there as long as this object, and captures of it open.
    void LetGo() {
        for (Station& station : m_stations) station.radio = nullptr;
    }

    bool IsOn(int station) const { return !m_stations.at(station).radio->IsStateOff(); }

    void Deliver(int station, std::string data) {
        m_inbox.emplace_back(station, std::move(data));
        Simulator::Stop();  // after the event of ns-3 that is happening
    }

  private:
    std::deque<Station> m_stations;  // a deque does not move them: callbacks have their addresses
    std::deque<std::pair<int, std::string>> m_inbox;
    std::string m_datagram;
    uint16_t m_controlPort = 0;
    Ptr<PairLoss> m_pairs = CreateObject<PairLoss>();
    Address m_everyone{InetSocketAddress(Ipv4Address::GetBroadcast(), PORT)};
};

// What a station sends itself. Protocols that must find a route first let it pass the loopback interface meanwhile, and
// send it on as if it came from another station.
inline void Station::Sent(const Ipv4Header& header, Ptr<const Packet> payload, uint32_t interface) {
    const uint32_t LOOPBACK = 0;
    if (interface != LOOPBACK) bridge->CountIfOfRouting(*this, payload, header.GetProtocol(), false);
}

inline void Station::Forwarded(const Ipv4Header& header, Ptr<const Packet> payload, uint32_t) {
    bool isOwn = header.GetSource() == InetSocketAddress::ConvertFrom(address).GetIpv4();
    bridge->CountIfOfRouting(*this, payload, header.GetProtocol(), !isOwn);
}

inline void Station::Heard(Ptr<Socket> from) {
    while (Ptr<Packet> packet = from->Recv()) {
        std::string data(packet->GetSize(), '\0');
        packet->CopyData(reinterpret_cast<uint8_t*>(data.data()), packet->GetSize());
        bridge->Deliver(number, std::move(data));
    }
}

// Keeps the end of what is written to it.
class Tail : public std::streambuf {
  public:
    std::string text;

  private:
    std::streamsize xsputn(const char* data, std::streamsize size) override {
        text.append(data, size);
        if (text.size() > 2 * KEPT) text.erase(0, text.size() - KEPT);
        return size;
    }

    int_type overflow(int_type c) override {
        char one = traits_type::to_char_type(c);
        return xsputn(&one, 1), c;
    }

    static constexpr size_t KEPT = 4000;
};

// What ns-3 says of a fatal error, in one line. It is the last that ns-3 has said, but for one line without a reason.
inline std::string Reason(std::string said) {
    said = said.substr(0, said.rfind(NS_FATAL_MSG));
    while (!said.empty() && said.back() == '\n') said.pop_back();
    size_t message = said.rfind("msg=\"");  // which may have several lines
    size_t end = message == std::string::npos ? said.size() : message;
    size_t begin = said.rfind('\n', end);
    said = said.substr(begin == std::string::npos ? 0 : begin + 1);
    std::replace(said.begin(), said.end(), '\n', ' ');
    return said.empty() ? "it ended the process and gave no reason" : said;
}

// A fatal error of ns-3 ends the process with one line on that file descriptor. All that ns-3 writes to std::cerr and
// std::clog is kept for it.
void EndInOneLine(int fd) {
    static Tail said;
    static int place;
    place = fd;
    said.text.clear();
    std::cerr.rdbuf(&said);
    std::clog.rdbuf(&said);
    std::set_terminate([] {
        std::string line = "ns-3: " + Reason(said.text) + "\n";
        [[maybe_unused]] auto written = write(place, line.data(), line.size());
        _exit(70);
    });
}

}  // namespace adhoc
