// The reference: the same frames at the same times, sent by ns-3 alone. No Python runs while it does.
namespace replay {

using namespace ns3;

struct Frame {
    int64_t ns;
    int from, to;  // stations; -1 for all
    uint32_t bytes;
};

class Traffic {
  public:
    // The stations are numbered in the order in which they are added, as in the bridge of the backend.
    void Add(Ptr<Node> node, Ptr<NetDevice> device) {
        Ptr<Ipv4> ip = node->GetObject<Ipv4>();
        Ptr<Socket> socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), adhoc::PORT));
        socket->BindToNetDevice(device);
        socket->SetAllowBroadcast(true);
        socket->SetRecvCallback(MakeCallback(&Traffic::Drop, this));
        m_sockets.push_back(socket);
        m_addresses.push_back(InetSocketAddress(ip->GetAddress(1, 0).GetLocal(), adhoc::PORT));
    }

    void Plan(int64_t ns, int from, int to, uint32_t bytes) { m_frames.push_back({ns, from, to, bytes}); }

    // Send everything that is planned, and let time pass until the end.
    void Run(int64_t end) {
        Follow();
        Simulator::Stop(NanoSeconds(end) - Simulator::Now());
        Simulator::Run();
    }

    uint64_t Received() const { return m_received; }

  private:
    void Follow() {
        if (m_next < m_frames.size())
            Simulator::Schedule(NanoSeconds(m_frames[m_next].ns) - Simulator::Now(), &Traffic::Send, this);
    }

    void Send() {
        const Frame& frame = m_frames[m_next++];
        const Address& to = frame.to < 0 ? m_everyone : m_addresses.at(frame.to);
        m_sockets.at(frame.from)->SendTo(Create<Packet>(frame.bytes), 0, to);
        Follow();
    }

    void Drop(Ptr<Socket> socket) {
        while (socket->Recv()) ++m_received;
    }

    std::vector<Ptr<Socket>> m_sockets;
    std::vector<Address> m_addresses;
    std::vector<Frame> m_frames;
    size_t m_next = 0;
    uint64_t m_received = 0;
    Address m_everyone{InetSocketAddress(Ipv4Address::GetBroadcast(), adhoc::PORT)};
};

}  // namespace replay
