"""The older home of :func:`gradtape.hub.load_state_dict_from_url`."""

from tqdm import tqdm as tqdm  # which torchvision imports from here

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url", "tqdm"]
