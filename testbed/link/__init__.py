"""The link layer: the reliable FIFO links of the papers, with announced link changes, over an unreliable medium.

`frames` declares what is sent over the air and `wire` its bytes; `end` is one node's end of its link to one peer,
through all its sessions; `layer` is a node's whole link layer: it discovers neighbours, and relays datagrams between
nodes that no longer hear each other. All of it is a pure state machine: datagrams, times and messages in, actions out.
"""
