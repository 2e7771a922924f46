"""Virtual Wi-Fi radios of the Linux kernel (mac80211_hwsim), each in a namespace, and the medium between them."""
