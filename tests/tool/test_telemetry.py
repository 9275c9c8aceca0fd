#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""anydml telemetry: test_telemetry.py ANYDML [nocurl]

What it says, keeps and sends, against a local server; and that nothing is kept or sent unasked."""
import datetime
import http.server
import json
import os
import shutil
import sys
import threading
import time

import numpy as np

import wire
from tool import Tool

KEYS = ["day", "component", "device", "anydml", "os", "os_version", "sent"]


class Server:
    """Answers every POST with `code` and keeps what came."""

    def __init__(self):
        server = self
        self.requests, self.code, self.wait = [], 200, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.requests.append((self.path, dict(self.headers), body))
                time.sleep(server.wait)
                self.send_response(server.code)
                if server.code == 307:
                    self.send_header("Location", server.url + "/elsewhere")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


class Home:
    """An empty home, with what the command may leave there."""

    def __init__(self, tool):
        self.path = tool.file("home")
        self.settings = os.path.join(self.path, ".config/anydml/telemetry")
        self.records = os.path.join(self.path, ".local/state/anydml/telemetry.jsonl")
        os.environ["HOME"] = self.path

    def empty(self):
        shutil.rmtree(self.path, ignore_errors=True)
        os.mkdir(self.path)

    def content(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names]

    def write(self, path, text):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
        os.chmod(path, 0o600)


def use(tool, command="run", **environment):
    """Runs a model in one of the two ways that count as use."""
    if command == "run":
        return tool.works("run", tool.file("m.onnx"), "--input", tool.file("x.npy"), **environment)
    return tool.works("bench", tool.file("m.onnx"), "--seconds", "0", **environment)


def shown(tool):
    return [json.loads(line) for line in tool.works("telemetry", "show").splitlines()]


def eventually(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def record(day, component="torch", device="gpu", sent=False):
    values = [day, component, device, "0.1.0", "Debian GNU/Linux", "12", sent]
    return json.dumps(dict(zip(KEYS, values)), separators=(",", ":")).encode() + b"\n"


def check_off(tool, home, server):
    home.empty()
    tool.test("off (the default)" in tool.works("telemetry", "status"), "off by default")
    use(tool, OTEL_EXPORTER_OTLP_ENDPOINT=server.url)
    use(tool, "bench", OTEL_EXPORTER_OTLP_ENDPOINT=server.url)
    tool.test(tool.works("telemetry", "show") == "", "show without records")
    tool.test("no records" in tool.works("telemetry", "clear"), "clear without records")
    tool.fails(["telemetry", "send"], "telemetry is off")
    tool.fails(["telemetry", "send"], "telemetry is off", OTEL_EXPORTER_OTLP_ENDPOINT=server.url)
    tool.test(os.listdir(home.path) == [], f"nothing is written when off: {home.content()}")
    tool.works("telemetry", "off")
    use(tool)
    tool.test(home.content() == [home.settings], f"nothing but the switch when switched off: {home.content()}")
    tool.test("off (chosen)" in tool.works("telemetry", "status"), "switched off")
    tool.works("telemetry", "on")
    for value in ("0", "yes"):
        use(tool, ANYDML_TELEMETRY=value)
        tool.test("off (ANYDML_TELEMETRY" in tool.works("telemetry", "status", ANYDML_TELEMETRY=value), "the variable wins")
        tool.test("keeps it off" in tool.works("telemetry", "on", ANYDML_TELEMETRY=value), "on tells of the variable")
    tool.test(home.content() == [home.settings], "the variable keeps it off")
    tool.test(not server.requests, "nothing is sent when off")


def check_on(tool, home):
    home.empty()
    text = tool.works("telemetry", "on")
    for part in (home.records, "operating system", "day", "component", "cpu, gpu or npu", "version",
                 "nothing is sent", '{"day":'):
        tool.test(part in text, f"on tells of {part}")
    tool.test("on (chosen)" in tool.works("telemetry", "status"), "status when on")
    before = datetime.datetime.utcnow().strftime("%Y-%m-%d")
    use(tool)
    use(tool)
    use(tool, "bench")
    tool.works("devices")
    rows = shown(tool)
    tool.test(len(rows) == 1, f"one record: {rows}")
    tool.test(list(rows[0]) == KEYS, f"the keys are the documented ones: {list(rows[0])}")
    today = datetime.datetime.utcnow().strftime("%Y-%m-%d")
    tool.test(before <= rows[0]["day"] <= today, "the day")
    tool.test((rows[0]["component"], rows[0]["sent"]) == ("command", False), "component, sent")
    kind = json.loads(tool.works("devices", "--json"))[0]["kind"]
    tool.test(rows[0]["device"] == kind, "kind of device")
    tool.test(rows[0]["anydml"] in tool.works("--version"), "version")
    with open(home.records, encoding="ascii") as file:
        tool.test(file.read() == tool.works("telemetry", "show"), "show prints the file")
    with open(home.records, encoding="ascii") as file:
        text = file.read()
    for private in (os.uname().nodename, home.path, "m.onnx"):
        tool.test(private not in text, f"{private} is not kept")
    tool.test("1 kept, 1 of them not sent" in tool.works("telemetry", "status"), "status counts")
    tool.fails(["telemetry", "send"], "no endpoint")
    tool.test(home.content() and sorted(home.content()) == sorted([home.settings, home.records]), "two files, no more")
    tool.works("telemetry", "clear")
    tool.test(home.content() == [home.settings], "clear deletes the records")
    home.empty()
    use(tool, ANYDML_TELEMETRY="1")
    tool.test(len(shown(tool)) == 1 and home.content() == [home.records], "on by the variable alone")
    tool.test("keeps it on" in tool.works("telemetry", "off", ANYDML_TELEMETRY="1"), "off tells of the variable")


def check_usage(tool, home):
    home.empty()
    tool.fails(["telemetry"], "action is missing")
    tool.fails(["telemetry", "maybe"], "unknown action 'maybe'")
    tool.fails(["telemetry", "--bad"], "unknown option '--bad'")
    tool.fails(["telemetry", "on", "now"], "unexpected argument 'now'")
    tool.fails(["telemetry", "endpoint"], "endpoint needs a value")
    for bad in ("", "here", "file:///tmp/x", "http://", "http://a?b=c", "http://a b", "http://" + "a" * 2000):
        tool.fails(["telemetry", "endpoint", bad], "URL")
    tool.test(home.content() == [], "mistakes write nothing")


def check_body(tool, server, want):
    path, headers, body = server.requests[-1]
    tool.test(path == "/v1/logs" and headers["Content-Type"] == "application/json", f"POST {path} {headers}")
    tool.test(set(headers) == {"Host", "User-Agent", "Accept", "Content-Type", "Content-Length"}, f"headers: {headers}")
    tool.test(headers["User-Agent"] == "anydml", "user agent")
    top = json.loads(body)
    logs = top["resourceLogs"]
    tool.test(list(top) == ["resourceLogs"] and len(logs) == 1 and set(logs[0]) == {"resource", "scopeLogs"}, "resource logs")
    tool.test(logs[0]["resource"] == {"attributes": [{"key": "service.name", "value": {"stringValue": "anydml"}}]}, "resource")
    scopes = logs[0]["scopeLogs"]
    tool.test(len(scopes) == 1 and scopes[0]["scope"] == {"name": "anydml.telemetry"}, "scope")
    have = []
    for log in scopes[0]["logRecords"]:
        tool.test(set(log) == {"timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText", "body",
                               "attributes"}, f"log record: {log}")
        tool.test(isinstance(log["timeUnixNano"], str) and log["body"] == {"stringValue": "active"}, "time and body")
        day = datetime.datetime.utcfromtimestamp(int(log["timeUnixNano"]) / 1e9)
        values = {pair["key"]: pair["value"]["stringValue"] for pair in log["attributes"]}
        tool.test((day.hour, day.minute, day.second) == (0, 0, 0), "the day and not the time")
        tool.test(list(values) == ["anydml.component", "anydml.device", "anydml.version", "os.name", "os.version"],
                  f"attributes: {values}")
        have.append([day.strftime("%Y-%m-%d"), *values.values()])
    tool.test(have == [[row[key] for key in KEYS[:-1]] for row in want], f"sent {have}, wanted {want}")


def check_send(tool, home, server):
    home.empty()
    home.write(home.records, record("2026-01-02") + record("2026-01-03", sent=True) + record("2026-01-03", "command"))
    tool.works("telemetry", "on")
    rows = shown(tool)
    for ending in ("", "/", "//"):
        tool.test(server.url in tool.works("telemetry", "endpoint", server.url + ending), "endpoint tells")
    tool.test(server.url in tool.works("telemetry", "status"), "status tells the endpoint")
    tool.test("2 records sent" in tool.works("telemetry", "send"), "send")
    tool.test(len(server.requests) == 1, "one request")
    check_body(tool, server, [rows[0], rows[2]])
    tool.test(shown(tool) == [{**row, "sent": True} for row in rows], "marked as sent, otherwise unchanged")
    tool.test("0 records sent" in tool.works("telemetry", "send") and len(server.requests) == 1, "nothing twice")
    for code in (307, 400, 429, 500, 503):
        server.code = code
        home.write(home.records, record("2026-01-04"))
        count = len(server.requests)
        tool.fails(["telemetry", "send"], f"answered {code}", code=1)
        tool.test(len(server.requests) == count + 1 and not shown(tool)[0]["sent"], f"not sent with {code}")
    server.code = 200
    tool.works("telemetry", "endpoint", "http://127.0.0.1:1")
    tool.fails(["telemetry", "send"], "http://127.0.0.1:1/v1/logs", code=1)
    tool.test(not shown(tool)[0]["sent"], "still there")
    tool.works("telemetry", "clear")
    tool.test("0 records sent" in tool.works("telemetry", "send"), "send without records")


def check_standard_variable(tool, home, server):
    home.empty()
    home.write(home.records, record("2026-01-02"))
    server.requests.clear()
    variable = {"OTEL_EXPORTER_OTLP_ENDPOINT": server.url}
    tool.fails(["telemetry", "send"], "telemetry is off", **variable)
    tool.works("telemetry", "on")
    tool.test("OTEL_EXPORTER_OTLP_ENDPOINT" in tool.works("telemetry", "status", **variable), "status names the variable")
    tool.works("telemetry", "endpoint", "none")
    tool.fails(["telemetry", "send"], "no endpoint", **variable)
    tool.test(not server.requests, "none is none")
    tool.works("telemetry", "endpoint", "default")
    tool.fails(["telemetry", "send"], "'nonsense'", OTEL_EXPORTER_OTLP_ENDPOINT="nonsense")
    tool.test("1 records sent" in tool.works("telemetry", "send", **variable), "sent where the variable says")
    check_body(tool, server, shown(tool))


def check_automatic(tool, home, server):
    """The first use of a day sends, in the background; the others do not."""
    home.empty()
    server.requests.clear()
    server.wait = 3
    home.write(home.records, record("2026-01-02", "onnxruntime"))
    tool.works("telemetry", "on")
    tool.works("telemetry", "endpoint", server.url)
    start = time.monotonic()
    use(tool)
    ended = time.monotonic()
    tool.test(eventually(lambda: len(server.requests) == 1), "the first use of the day sends")
    tool.test(eventually(lambda: all(row["sent"] for row in shown(tool))), "and marks what it sent")
    took = time.monotonic() - ended
    tool.test(took > 1, f"the command did not wait for the answer ({ended - start:.1f} s, then {took:.1f} s)")
    check_body(tool, server, shown(tool))
    server.wait = 0
    use(tool)
    use(tool, "bench")
    time.sleep(1)
    tool.test(len(server.requests) == 1, "no more that day")
    home.empty()
    tool.works("telemetry", "on")
    use(tool)
    time.sleep(0.5)
    tool.test(len(server.requests) == 1, "nothing is sent without an endpoint")
    tool.works("telemetry", "clear")
    tool.works("telemetry", "endpoint", "http://127.0.0.1:1")
    use(tool)
    tool.test(len(shown(tool)) == 1, "an endpoint that does not answer has no effect")


def check_at_once(tool, home, server):
    """Records that come while others are sent are not taken for sent; two senders do not send the same."""
    home.empty()
    server.requests.clear()
    server.wait = 2
    home.write(home.records, record("2026-01-02"))
    tool.works("telemetry", "on")
    tool.works("telemetry", "endpoint", server.url)
    sender = threading.Thread(target=tool.works, args=("telemetry", "send"))
    sender.start()
    eventually(lambda: server.requests)
    tool.fails(["telemetry", "send"], "in use by another process", code=1)
    with open(home.records, "ab") as file:
        file.write(record("2026-01-03"))
    sender.join()
    server.wait = 0
    tool.test([row["sent"] for row in shown(tool)] == [True, False] and len(server.requests) == 1, "what came in between stays")


def check_damage(tool, home, server):
    for text in (b"", b"on\n", b"\0" * 100, b"telemetry on", b"telemetry on\nendpoint nowhere\n", b"x" * 100000):
        home.empty()
        home.write(home.settings, text)
        use(tool, OTEL_EXPORTER_OTLP_ENDPOINT=server.url)
        tool.test(home.content() == [home.settings], f"a switch that says {text[:30]} is off")
        tool.test("is damaged" in tool.works("telemetry", "status"), "status tells of damaged settings")
        tool.works("telemetry", "on")
        tool.test("on (chosen)" in tool.works("telemetry", "status"), "on repairs them")
    for text in (b"\0" * 1000, b"\xff\xfe\n{}\n", record("2026-01-02")[:-20], b"[" * 500000):
        home.write(home.records, text)
        tool.test("1 damaged" in tool.works("telemetry", "status") or b"{}" in text, "status counts damage")
        tool.test(shown(tool) == [], "damage is not shown as a record")
        use(tool)
        tool.test(len(shown(tool)) == 1, "recording goes on")
    home.empty()
    tool.works("telemetry", "on")
    victim = tool.file("victim", b"mine")
    os.makedirs(os.path.dirname(home.records), mode=0o700)
    os.symlink(victim, home.records)
    use(tool)
    tool.fails(["telemetry", "show"], "ignored")
    tool.fails(["telemetry", "clear"], "ignored")
    tool.test("ignored" in tool.works("telemetry", "status"), "status tells of a link")
    with open(victim, "rb") as file:
        tool.test(file.read() == b"mine" and os.path.islink(home.records), "a link is not followed")


def check_no_home(tool, home):
    home.empty()
    del os.environ["HOME"]
    use(tool, ANYDML_TELEMETRY="1")
    for action in (["on"], ["off"], ["endpoint", "none"], ["show"], ["clear"]):
        tool.fails(["telemetry", *action], "HOME is not set")
    tool.test("HOME is not set" in tool.works("telemetry", "status"), "status without HOME")
    os.environ["HOME"] = home.path
    other = tool.file("other")
    places = {"XDG_CONFIG_HOME": other + "/c", "XDG_STATE_HOME": other + "/s"}
    tool.works("telemetry", "on", **places)
    use(tool, **places)
    tool.test(os.path.isfile(other + "/c/anydml/telemetry") and os.path.isfile(other + "/s/anydml/telemetry.jsonl"),
              "the XDG variables")
    tool.test(home.content() == [], "and only there")


def check_no_curl(tool, home):
    """A build without libcurl."""
    home.empty()
    home.write(home.records, record("2026-01-02"))
    tool.works("telemetry", "on")
    tool.works("telemetry", "endpoint", "http://127.0.0.1:1")
    tool.test("without libcurl" in tool.works("telemetry", "status"), "status says that it cannot send")
    tool.fails(["telemetry", "send"], "without libcurl")
    use(tool)
    tool.test([row["sent"] for row in shown(tool)] == [False, False], "records are kept all the same")


def main():
    tool = Tool(sys.argv[1])
    for name in list(os.environ):
        if name.startswith(("OTEL_", "XDG_", "ANYDML_TELEMETRY")) or name.lower().endswith("_proxy"):
            del os.environ[name]
    wire_model = wire.model([wire.node("Identity", ["x"], ["y"])], [("x", wire.FLOAT, [2])], [("y", wire.FLOAT, [2])])
    tool.file("m.onnx", wire_model)
    np.save(tool.file("x.npy"), np.zeros(2, np.float32))
    home, server = Home(tool), Server()
    check_off(tool, home, server)
    check_on(tool, home)
    check_usage(tool, home)
    check_damage(tool, home, server)
    check_no_home(tool, home)
    if "nocurl" in sys.argv:
        check_no_curl(tool, home)
    else:
        check_send(tool, home, server)
        check_standard_variable(tool, home, server)
        check_automatic(tool, home, server)
        check_at_once(tool, home, server)
    tool.finish()


if __name__ == "__main__":
    main()
