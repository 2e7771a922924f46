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

#include <cstdint>
#include <deque>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace adhoc {

using namespace ns3;

const uint16_t PORT = 4711;

class Bridge;

// A loss between pairs of stations in addition to that of the models after it: their shadowing, or one that no signal
// survives. A pair without an entry has none.
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
        return dbm - m_losses[m_numbers.at(PeekPointer(a)) * m_numbers.size() + m_numbers.at(PeekPointer(b))];
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

    bool IsOn(int station) const { return !m_stations.at(station).radio->IsStateOff(); }

    void Deliver(int station, std::string data) {
        m_inbox.emplace_back(station, std::move(data));
        Simulator::Stop();  // after the event of ns-3 that is happening
    }

  private:
    std::deque<Station> m_stations;  // a deque does not move them: callbacks have their addresses
    std::deque<std::pair<int, std::string>> m_inbox;
    std::string m_datagram;
    Ptr<PairLoss> m_pairs = CreateObject<PairLoss>();
    Address m_everyone{InetSocketAddress(Ipv4Address::GetBroadcast(), PORT)};
};

inline void Station::Heard(Ptr<Socket> from) {
    while (Ptr<Packet> packet = from->Recv()) {
        std::string data(packet->GetSize(), '\0');
        packet->CopyData(reinterpret_cast<uint8_t*>(data.data()), packet->GetSize());
        bridge->Deliver(number, std::move(data));
    }
}

// A fatal error of ns-3 ends the process with one line: what ns-3 says of it, which it writes to std::cerr and std::clog.
void EndInOneLine() {
    static std::ostringstream said;
    std::cerr.rdbuf(said.rdbuf());
    std::clog.rdbuf(said.rdbuf());
    std::set_terminate([] {
        std::string line = "testbed: ns-3: " + said.str();
        line = line.substr(0, line.find('\n')) + "\n";
        [[maybe_unused]] auto written = write(2, line.data(), line.size());
        _exit(70);
    });
}

}  // namespace adhoc
