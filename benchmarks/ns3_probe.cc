// What ns-3's MAC does with every frame of our stations, by its own trace sources.
namespace probe {

using namespace ns3;

// One frame in the queue of a station's radio; times in ns, -1 if it did not happen.
struct Frame {
    int station;
    bool is_unicast;
    int64_t queued, first, last, end;  // put into the queue; first and last begin of a transmission; left the queue
    int attempts;
    bool is_acked;
};

class Probe {
  public:
    // Watch all nodes that there are. The first device of each is its radio.
    void Watch() {
        for (uint32_t number = 0; number < NodeList::GetNNodes(); ++number)
            m_stations.push_back({this, static_cast<int>(number)});
        for (Station& station : m_stations) {
            auto device = DynamicCast<WifiNetDevice>(NodeList::GetNode(station.number)->GetDevice(0));
            Ptr<WifiMacQueue> queue = device->GetMac()->GetTxopQueue(AC_BE_NQOS);
            queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Station::Queued, &station));
            queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Station::Left, &station));
            device->GetMac()->TraceConnectWithoutContext("AckedMpdu", MakeCallback(&Station::Acked, &station));
            device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&Station::Sent, &station));
            device->GetPhy()->GetState()->TraceConnectWithoutContext("State", MakeCallback(&Probe::Was, this));
        }
    }

    // How often a radio sends a frame that is not acknowledged, before it gives up.
    void LimitAttempts(uint32_t limit) {
        for (uint32_t number = 0; number < NodeList::GetNNodes(); ++number)
            DynamicCast<WifiNetDevice>(NodeList::GetNode(number)->GetDevice(0))->GetMac()->SetFrameRetryLimit(limit);
    }

    const std::vector<Frame>& Frames() const { return m_frames; }

    // Time that radios sent, received or heard that the channel is busy, over all stations.
    int64_t Busy() const { return m_busy; }

  private:
    struct Station {
        Probe* probe;
        int number;

        void Queued(Ptr<const WifiMpdu> mpdu) {
            probe->m_index[mpdu->GetPacket()->GetUid()] = probe->m_frames.size();
            bool is_unicast = !mpdu->GetHeader().GetAddr1().IsGroup();
            probe->m_frames.push_back({number, is_unicast, Simulator::Now().GetNanoSeconds(), -1, -1, -1, 0, false});
        }

        void Left(Ptr<const WifiMpdu> mpdu) { probe->Find(mpdu).end = Simulator::Now().GetNanoSeconds(); }

        void Acked(Ptr<const WifiMpdu> mpdu) { probe->Find(mpdu).is_acked = true; }

        void Sent(WifiConstPsduMap psdus, WifiTxVector, double) {
            Ptr<const WifiPsdu> psdu = psdus.begin()->second;
            if (!psdu->GetHeader(0).IsData()) return;
            Frame& frame = probe->Find(*psdu->begin());
            frame.last = Simulator::Now().GetNanoSeconds();
            if (frame.attempts++ == 0) frame.first = frame.last;
        }
    };

    Frame& Find(Ptr<const WifiMpdu> mpdu) { return m_frames[m_index.at(mpdu->GetPacket()->GetUid())]; }

    void Was(Time, Time duration, WifiPhyState state) {
        if (state == WifiPhyState::TX || state == WifiPhyState::RX || state == WifiPhyState::CCA_BUSY)
            m_busy += duration.GetNanoSeconds();
    }

    std::deque<Station> m_stations;
    std::vector<Frame> m_frames;
    std::unordered_map<uint64_t, size_t> m_index;
    int64_t m_busy = 0;
};

}  // namespace probe
