"""Every algorithm the testbed knows, by the name a scenario uses. A new one is one file and one line here."""

from agents.bv import BV
from agents.contract import Agent
from agents.hk import PrioritizedHOutOfK
from agents.hk_fifo import HOutOfK
from agents.klme import KLME
from agents.krl import KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.krlf_adaptive import KReverseLinkAdaptive
from agents.maekawa import Maekawa
from agents.makki import Makki
from agents.naimi_trehel import NaimiTrehel
from agents.raymond_k import RaymondK
from agents.raymond_tree import RaymondTree
from agents.ricart_agrawala import RicartAgrawala
from agents.rl import ReverseLink
from agents.srimani_reddy import SrimaniReddy
from agents.suzuki_kasami import SuzukiKasami

ALGORITHMS: dict[str, type[Agent]] = {
    "rl": ReverseLink,
    "raymond-tree": RaymondTree,
    "krl": KReverseLink,
    "krlf": KReverseLinkForwarding,
    "krlf-adaptive": KReverseLinkAdaptive,
    "ricart-agrawala": RicartAgrawala,
    "suzuki-kasami": SuzukiKasami,
    "naimi-trehel": NaimiTrehel,
    "maekawa": Maekawa,
    "bv": BV,
    "raymond-k": RaymondK,
    "srimani-reddy": SrimaniReddy,
    "makki": Makki,
    "hk": PrioritizedHOutOfK,
    "hk-fifo": HOutOfK,
    "klme": KLME,
}
