#!/usr/bin/env python3
"""A small coding agent with two tools of its own, on an OpenAI-style API.

It needs nothing but Python: the address and the model come from the environment, as
with any SDK. Try it by hand with OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL set:

    echo "Write hello.txt" | python3 main.py
"""
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.parse

TOOLS = [
    {"type": "function", "function": {"name": "read_file", "description": "Read a text file.", "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}},
    {"type": "function", "function": {"name": "run", "description": "Run a command with sh.", "parameters": {
        "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}},
]


def ask(messages):
    """Make one call, again after a rate limit or a server's error, and return the reply's message."""
    base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": TOOLS, "stream": True})
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    for _ in range(4):
        opener = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        connection = opener(base.netloc)
        connection.request("POST", base.path + "/chat/completions", body, headers)
        response = connection.getresponse()
        if response.status == 200:
            return whole(response)
        text = response.read().decode()
        print(f"HTTP {response.status}: {text}", file=sys.stderr)
        if response.status != 429 and response.status < 500:
            break
        time.sleep(float(response.getheader("Retry-After") or 1))
    sys.exit(1)


def whole(response):
    """Put the pieces of a stream together."""
    content, calls = "", {}
    for line in response:
        if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
            continue
        for choice in json.loads(line[6:])["choices"]:
            content += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(piece["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] += piece.get("id") or ""
                for key in ("name", "arguments"):
                    call["function"][key] += piece["function"].get(key) or ""
    message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = list(calls.values())
    return message


def use(name, arguments):
    """Run one of the tools; what goes wrong is for the model to read."""
    try:
        if name == "read_file":
            with open(arguments["path"], encoding="utf-8") as f:
                return f.read()
        done = subprocess.run(["sh", "-c", arguments["command"]], capture_output=True, text=True, timeout=60)
        return f"{done.stdout}{done.stderr}\nexit status {done.returncode}"
    except Exception as e:
        return f"error: {e}"


def main():
    messages = [{"role": "system", "content": "You are a coding agent. Use the tools; answer in text when you are done."},
                {"role": "user", "content": sys.stdin.read()}]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            print(message["content"])
            return
        for call in message["tool_calls"]:
            result = use(call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


main()
