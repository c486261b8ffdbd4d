#!/usr/bin/env python3
"""Runs clang-tidy over the files of some folders; a file whose content and headers passed before is not run again.

A file is run again when it, a header of the project that it includes, its compile command or .clang-tidy changes. In a
build that compiles several files as one unit, that unit is checked as one: most of the time goes into the headers.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys

INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
ROOTS = ("include", "src", ".")  # the folders to search for the project's headers


@functools.lru_cache(maxsize=None)
def headers_of(path):
    """Returns the project's headers that a file includes directly."""
    with open(path, "rb") as file:
        names = [match.decode() for match in INCLUDE.findall(file.read())]
    found = []
    for name in names:
        if os.path.isabs(name):  # only generated units include absolute paths
            found.append(os.path.relpath(name))
            continue
        for root in (os.path.dirname(path), *ROOTS):
            candidate = os.path.normpath(os.path.join(root, name))
            if os.path.isfile(candidate):
                found.append(candidate)
                break
    return tuple(found)


@functools.lru_cache(maxsize=None)
def content_hash(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def reached_from(path):
    """Returns the file and every header of the project that it includes."""
    reached, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting.extend(headers_of(current))
    return reached


def changed_files():
    """Returns files changed since this branch left main; on main, the files with uncommitted changes."""
    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout
    base = subprocess.run(["git", "merge-base", "HEAD", "main"], capture_output=True, text=True, check=False).stdout.strip()
    names = git("diff", "--name-only", base or "HEAD").splitlines()
    return set(names) | set(git("ls-files", "--others", "--exclude-standard").splitlines())


def key_of(path, command, settings):
    reached = reached_from(path)
    key = hashlib.sha256(settings + command.encode())
    for name in sorted(reached):
        key.update(name.encode() + content_hash(name))
    return key.hexdigest()


def files_in(path):
    """Returns the files that a generated unit includes; for any other file, the file itself."""
    return headers_of(path) if path.endswith(".cxx") else (path,)


def is_chosen(names, prefixes):
    return any(name.startswith(prefixes) for name in names)


def run(program, build, path):
    # A unity file includes source files on purpose.
    checks = ["--checks=-bugprone-suspicious-include"] if path.endswith(".cxx") else []
    done = subprocess.run([program, "--quiet", "--warnings-as-errors=*", *checks, "-p", build, path],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--build", required=True, help="build folder with compile_commands.json")
    parser.add_argument("--changed", action="store_true",
                        help="only files that differ from main, or include a header that does")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--program", default="clang-tidy-14")
    arguments = parser.parse_args()

    with open(os.path.join(arguments.build, "compile_commands.json"), encoding="utf-8") as file:
        commands = {os.path.relpath(entry["file"]): entry["command"] for entry in json.load(file)}
    with open(".clang-tidy", "rb") as file:
        settings = file.read()
    inside = {path: files_in(path) for path in commands}
    prefixes = tuple(os.path.join(folder, "") for folder in arguments.folders)
    stamps = os.path.join("build", "check", "tidy")
    os.makedirs(stamps, exist_ok=True)
    waiting = {}
    changed = changed_files() if arguments.changed else None
    for path in sorted(commands):
        if is_chosen(inside[path], prefixes) and (changed is None or reached_from(path) & changed):
            stamp = os.path.join(stamps, key_of(path, commands[path], settings))
            if not os.path.exists(stamp):
                waiting[path] = stamp
    chosen = sum(is_chosen(names, prefixes) for names in inside.values())
    if chosen == 0:
        print("tidy: no file to look at", file=sys.stderr)
        return 1
    print(f"{chosen} files, {len(waiting)} to look at", flush=True)

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(run, arguments.program, arguments.build, path): path for path in waiting}
        for number, future in enumerate(concurrent.futures.as_completed(running), start=1):
            path, (code, text) = running[future], future.result()
            print(f"[{number}/{len(waiting)}] {path}{'' if code == 0 else ': findings'}", flush=True)
            if code == 0:
                with open(waiting[path], "w", encoding="utf-8"):
                    pass
            else:
                bad += 1
                print(text, flush=True)
    print(f"{bad} of {chosen} files with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
