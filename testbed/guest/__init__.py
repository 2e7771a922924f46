"""A throwaway Linux guest: a stock kernel with Wi-Fi radios in software, for machines whose own kernel has none.

`testbed.guest.host.Guest` boots one and runs commands in it; docs/guest.md says how it works and what it costs. The
guest has the host's Python and this project's code, no network to the outside and no disk that it can write to.
"""
