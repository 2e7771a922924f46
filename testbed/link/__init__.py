"""The link layer: the papers' reliable FIFO links, announced when they come and go, on a medium that grants none of it.

`frames` says what goes over the air and `wire` how it is spelt; `end` is one node's end of its link to one peer,
through all its sessions; `layer` is a node's whole link layer: it listens for neighbours, and carries for those who
have lost sight of each other. All of it is a pure state machine: datagrams, times and messages in, actions out.
"""
