"""The check-up of an algorithm: is it safe and live, and does it keep to the contract? In about a minute.

`subject.py` is the algorithm that is checked, `draws.py` draws random scenarios for it, `trials.py` runs a group of
them, `twins.py` and `sameness.py` test the contract, `real_time.py` runs it as processes, `costs.py` compares what it
costs, and `checkup.py` does all of this in order.
"""
