# SPDX-License-Identifier: Apache-2.0
"""Support of the Windows provider's name in ONNX Runtime's Python module. ONNX Runtime treats DmlExecutionProvider as a
built-in provider, which may be missing; accept() makes the module behave like a build with DirectML, using only public
functions and classes."""
from __future__ import annotations

import functools
import os
from typing import Any

OWN = "AnyDMLExecutionProvider"
WINDOWS = "DmlExecutionProvider"
_BY_NAME = 1, 25  # since this version providers=[...] accepts plugins by their own names
_MARK = "_anydml_windows_name"  # attribute of sessions that were requested by that name, and of a module that accepts it
# y = Identity(x), for probing the runtime.
_MODEL = bytes.fromhex("08083a2b0a100a017812017922084964656e7469747912016d5a090a017812040a02080162090a017912040a0208014204"
                       "0a00100d")


def has_own(ort: Any) -> bool:
    """Whether the runtime is a build with DirectML, which has its own provider of that name."""
    return "DML" in ort.get_device()


def accept(ort: Any) -> None:
    """Enables the name, once per process; the devices must be registered already."""
    if has_own(ort) or hasattr(ort.InferenceSession, _MARK):
        return
    _accept_listing(ort)
    _accept_sessions(ort)
    _accept_options(ort)
    setattr(ort.InferenceSession, _MARK, False)


def _devices(ort: Any, name: str = WINDOWS) -> list[Any]:
    return [device for device in ort.get_ep_devices() if device.ep_name == name]


def _is_new(ort: Any) -> bool:
    return tuple(map(int, ort.__version__.split(".")[:2])) >= _BY_NAME


# ---- available providers

def _accept_listing(ort: Any) -> None:
    state = ort.capi._pybind_state
    native_providers, native_device = state.get_available_providers, state.get_device

    @functools.wraps(native_providers)
    def get_available_providers() -> list[str]:
        names = [name for name in native_providers() if name != WINDOWS]
        return [WINDOWS, *names] if _devices(ort) else names

    @functools.wraps(native_device)
    def get_device() -> str:
        return native_device() + ("-DML" if _devices(ort) else "")

    ort.get_available_providers = state.get_available_providers = get_available_providers
    ort.get_device = state.get_device = get_device


# ---- requested providers

def _device_for(ort: Any, options: dict[Any, Any]) -> Any:
    """The device that the options select, or the default one. Raises ValueError if it does not exist."""
    devices = _devices(ort)
    number = {str(key): str(value) for key, value in options.items()}.get("device_id")
    for device in devices:
        if number is None or device.ep_metadata["device_id"] == number.strip():
            return device
    if number is not None and not number.strip().isdecimal():
        raise ValueError(f"{WINDOWS}: option device_id is '{number}'; it must be a whole number")
    raise ValueError(f"{WINDOWS}: device {number or 0} does not exist; found {len(devices)} (anydml devices)")


def _split(providers: Any, provider_options: Any) -> list[tuple[Any, Any]] | None:
    """Pairs of names and options in the given order; None: this provider is not requested, or the form is invalid."""
    if isinstance(providers, (str, bytes)) or not hasattr(providers, "__iter__"):
        return None
    pairs = []
    for index, provider in enumerate(providers):
        if isinstance(provider, str):
            given = provider_options[index] if provider_options is not None and index < len(provider_options) else {}
            pairs.append((provider, given))
        elif isinstance(provider, (tuple, list)) and len(provider) == 2 and provider_options is None:
            pairs.append((provider[0], provider[1]))
        else:
            return None
    if any(name == WINDOWS and not isinstance(options, dict) for name, options in pairs):
        return None
    return pairs if any(name == WINDOWS for name, _ in pairs) else None


class _Asked:
    """A request for the provider by the Windows name, translated to one for ONNX Runtime."""

    def __init__(self, ort: Any, pairs: list[tuple[Any, Any]]) -> None:
        self.options = next(options for name, options in pairs if name == WINDOWS)
        self.device = _device_for(ort, self.options)
        self.pairs: dict[Any, Any] = {}
        for name, options in pairs:  # get_available_providers() has both names
            self.pairs.setdefault(OWN if name == WINDOWS else name, options)

    @property
    def providers(self) -> list[Any]:
        return list(self.pairs.items())


@functools.lru_cache(maxsize=1)
def _resolves(ort: Any) -> bool:
    """Whether the runtime itself finds a plugin by this name."""
    state = ort.capi._pybind_state
    options = state.SessionOptions()
    options.log_severity_level = 4
    try:
        session = state.InferenceSession(options, _MODEL, False, False)
        session.initialize_session([WINDOWS], [{}], set())
    except Exception:  # pylint: disable=broad-except; the class depends on the version
        return False
    return WINDOWS in session.get_providers()


def _ask(ort: Any, session: Any, options: Any, providers: Any, provider_options: Any) -> _Asked | None:
    pairs = _split(providers, provider_options)
    if providers is None and os.environ.get("ANYDML_ONNXRUNTIME_DEFAULT") == "1" and not (options and options.has_providers()):
        pairs = [(WINDOWS, {})]
    asked = None if pairs is None or _resolves(ort) else _Asked(ort, pairs)
    setattr(session, _MARK, asked is not None)
    return asked


def _report(session: Any, asked: _Asked | None) -> None:
    """Appends a line to the report for `anydml exec`, in a single write."""
    path = os.environ.get("ANYDML_ONNXRUNTIME_REPORT")
    if not path:
        return
    used = asked is not None or WINDOWS in session.get_providers()
    chosen = asked is not None and not {"device_filter", "performance_preference"} & set(map(str, asked.options))
    device = asked.device.ep_metadata["device_id"] if asked is not None and chosen else "-"
    try:
        with open(path, "ab", buffering=0) as file:
            file.write(f"{WINDOWS if used else 'other'} {device}\n".encode())
    except OSError:
        pass  # `anydml exec` has ended


# ---- sessions

def _with_device(ort: Any, options: Any, asked: _Asked) -> Any:
    """A copy of the options with the device, because runtimes before 1.25 accept plugins by device only. A session that is
    not initialized returns a copy of its options."""
    state = ort.capi._pybind_state
    copy = state.InferenceSession(options or state.SessionOptions(), _MODEL, False, False).session_options
    copy.add_provider_for_devices([asked.device], {str(key): str(value) for key, value in asked.options.items()})
    return copy


def _accept_sessions(ort: Any) -> None:
    session_class = ort.InferenceSession
    by_name = _is_new(ort)
    native_init, native_set = session_class.__init__, session_class.set_providers

    @functools.wraps(native_init)
    def __init__(self: Any, path_or_bytes: Any, sess_options: Any = None, providers: Any = None,
                 provider_options: Any = None, **kwargs: Any) -> None:
        asked = _ask(ort, self, sess_options, providers, provider_options)
        if asked is None:
            native_init(self, path_or_bytes, sess_options, providers, provider_options, **kwargs)
        else:
            # Without this, ONNX Runtime would retry failures on the CPU and print a line on stdout.
            again = int(kwargs.get("enable_fallback", 1)) == 1
            kwargs["enable_fallback"] = 0
            if by_name:
                native_init(self, path_or_bytes, sess_options, asked.providers, None, **kwargs)
            else:
                native_init(self, path_or_bytes, _with_device(ort, sess_options, asked), None, None, **kwargs)
            if again:
                self.enable_fallback()
        self._anydml_given_options = sess_options
        _report(self, asked)

    @functools.wraps(native_set)
    def set_providers(self: Any, providers: Any = None, provider_options: Any = None) -> None:
        given = getattr(self, "_anydml_given_options", None)
        asked = _ask(ort, self, given, providers, provider_options)
        if not by_name:
            self._sess_options_initial = _with_device(ort, given, asked) if asked else given
        if asked is None:
            native_set(self, providers, provider_options)
        else:
            native_set(self, asked.providers if by_name else None)
        _report(self, asked)

    session_class.__init__ = __init__
    session_class.set_providers = set_providers
    _accept_answers(session_class)


def _accept_answers(session_class: Any) -> None:
    """Makes sessions return the name by which the provider was requested."""
    native_providers, native_options = session_class.get_providers, session_class.get_provider_options

    def name_for(session: Any, name: str) -> str:
        return WINDOWS if name == OWN and getattr(session, _MARK, False) else name

    @functools.wraps(native_providers)
    def get_providers(self: Any) -> list[str]:
        return [name_for(self, name) for name in native_providers(self)]

    @functools.wraps(native_options)
    def get_provider_options(self: Any) -> dict[str, Any]:
        return {name_for(self, name): options for name, options in native_options(self).items()}

    session_class.get_providers = get_providers
    session_class.get_provider_options = get_provider_options


def _accept_options(ort: Any) -> None:
    """Makes SessionOptions.add_provider() accept the name; ModelCompiler uses such options."""
    options_class = ort.SessionOptions
    native = options_class.add_provider

    @functools.wraps(native)
    def add_provider(self: Any, name: str, options: dict[str, str]) -> None:
        if name == WINDOWS and not _resolves(ort):
            self.add_provider_for_devices([_device_for(ort, options)], options)
        else:
            native(self, name, options)

    options_class.add_provider = add_provider
