"""Frames in notebooks, where one runs this; nothing is imported that is not there already."""

import sys

HEIGHT = 520  # pixels


def is_running():
    """Whether a notebook (a kernel, not a terminal) runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def show(address):
    """Shows a page in a frame below the cell."""
    from IPython.display import IFrame, display

    display(IFrame(address, width="100%", height=HEIGHT))
