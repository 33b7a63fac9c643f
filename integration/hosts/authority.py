#!/usr/bin/env python3
"""An authority in another language: authority.py SOCKET [BEHAVIOUR…].

It grants what it is asked for, once each. Behaviours make it misbehave:
  FIELD=JSON      another value in the capability         missing=FIELD   without it
  silent          never answers                           garbage         answers what is no JSON
  old             knows none of the methods               wrong-id        answers another request
  refuse          {"error"}                               reuse           the same token every time
  no-consume      consuming fails                         no-record       recording fails
  egress=TEXT     refuses every egress with that text     hangup          closes without an answer
What it was asked is written to SOCKET.log, a line each.
"""
import json
import os
import secrets
import socketserver
import sys
import threading
import time

path, behaviours = sys.argv[1], sys.argv[2:]
lock = threading.Lock()
issued, log = {}, open(path + ".log", "w", buffering=1)
BOUND = ("command_sha256", "cwd", "workspace", "generation", "challenge")


def value_of(name):
    return next((b.split("=", 1)[1] for b in behaviours if b.startswith(name + "=")), None)


def authorize(params):
    if "refuse" in behaviours:
        return {"error": "not today"}
    token = "t" * 43 if "reuse" in behaviours else secrets.token_urlsafe(32)
    now = int(time.time() * 1000)
    grant = {name: params[name] for name in BOUND}
    grant |= {"version": 1, "token": token, "allowed_root": params["workspace"]}
    grant |= {"issued_at_ms": now, "expires_at_ms": now + 30000}
    for behaviour in behaviours:
        name, _, text = behaviour.partition("=")
        if name == "missing":
            del grant[text]
        elif name in grant:
            grant[name] = json.loads(text.replace("NOW", str(now)))
    with lock:
        issued[token] = {name: params[name] for name in BOUND}
    return grant


def consume(params):
    if "no-consume" in behaviours:
        return {"ok": False, "error": "somebody was faster"}
    with lock:
        bound = issued.get(params["token"]) if "reuse" in behaviours else issued.pop(params["token"], None)
    return {"ok": bound is not None and all(bound[name] == params[name] for name in BOUND)}


def record(params):
    if "no-record" in behaviours:
        return {"error": "the disk is full"}
    return {"recorded": True}


def egress(params):
    text = value_of("egress")
    return {"allowed": text is None} | ({"error": text} if text else {})


METHODS = {
    "authorize_bash": authorize,
    "consume_bash_authorization": consume,
    "record_bash_result": record,
    "egress_check": egress,
}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            request = json.loads(line)
            log.write(json.dumps(request) + "\n")
            if "hangup" in behaviours:
                return
            if "silent" in behaviours:
                time.sleep(3600)
            if "garbage" in behaviours:
                self.wfile.write(b"yes, go ahead\n")
                continue
            answer = {"jsonrpc": "2.0", "id": 99 if "wrong-id" in behaviours else request["id"]}
            if "old" in behaviours or request["method"] not in METHODS:
                answer["error"] = {"code": -32601, "message": "Method not found"}
            else:
                answer["result"] = METHODS[request["method"]](request["params"])
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128


if os.path.exists(path):
    os.unlink(path)
Server(path, Handler).serve_forever()
