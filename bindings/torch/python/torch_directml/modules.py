# SPDX-License-Identifier: Apache-2.0
"""Modules whose parameters are shared, such as a language model's embedding and its last layer, stay so when they move.

torch moves parameters to devices that it does not know by making new ones, one for each place where a parameter stands.
"""
import collections
import functools
import threading

import torch


def _places(module):
    """By parameter: the modules and names under which it stands, if those are several."""
    places = collections.defaultdict(list)
    for child in module.modules():
        for name, parameter in child._parameters.items():
            if parameter is not None:
                places[parameter].append((child, name))
    return [where for where in places.values() if len(where) > 1]


def install():
    """Wraps Module._apply, through which to(), half() and the like go. Called once."""
    original = torch.nn.Module._apply
    state = threading.local()

    @functools.wraps(original)
    def apply(self, *args, **kwargs):
        if getattr(state, "inside", False):
            return original(self, *args, **kwargs)
        shared = _places(self)
        state.inside = True
        try:
            result = original(self, *args, **kwargs)
        finally:
            state.inside = False
        for (first, name), *others in shared:
            for child, other in others:
                child._parameters[other] = first._parameters[name]
        return result

    torch.nn.Module._apply = apply
