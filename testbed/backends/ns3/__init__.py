"""`ns3`: the agents under ns-3's models of 802.11, in virtual time."""
