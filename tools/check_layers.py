#!/usr/bin/env python3
"""check_layers: fails when an #include or a CMake edge opens a door that ARCHITECTURE.md does not list, or reaches past a front door.

The `layers` block of ARCHITECTURE.md is the truth. An outsider enters a room by room/room.h or one of MORE_DOORS; core is a set of
words, all of whose headers are open. calla_room(...) in CMakeLists.txt must state exactly the edges of the block.
"""
import pathlib
import re
import sys

SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inl", ".mm", ".metal"}
OPEN_ROOMS = {"core"}
MORE_DOORS = {"device/plan.h", "engine/classify.h", "engine/plan.h", "privacy/audit.h", "privacy/policy.h", "privacy/scan.h", "text/grammar.h", "text/tools.h"}  # front doors beside room/room.h


def read_layers(text):
    block = re.search(r"```layers\n(.*?)```", text, re.S)
    if not block:
        sys.exit("ARCHITECTURE.md: a ```layers block expected, none found")
    layers = {}
    for line in block[1].strip().splitlines():
        room, _, others = line.partition(":")
        layers[room.strip()] = set(others.split())
    for room, others in layers.items():
        if others == {"everything"}:
            layers[room] = set(layers) - {room}
    return layers


def find_cycles(layers):
    """Rooms left over when rooms that open only settled ones are settled, again and again."""
    left = dict(layers)
    while settled := [room for room, others in left.items() if not others & set(left)]:
        for room in settled:
            del left[room]
    return sorted(left)


def check_includes(source, layers):
    for path in sorted(p for p in source.rglob("*") if p.suffix in SUFFIXES):
        room = path.relative_to(source).parts[0]
        if room not in layers:
            yield f"{path}: the room {room} is not in the layers block"
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found or "/" not in found[1]:
                continue
            other, rest = found[1].split("/", 1)
            if other == room:
                continue
            if other not in layers[room]:
                yield f"{path}:{number}: {room} may not open {other}"
            elif rest != other + ".h" and other not in OPEN_ROOMS and found[1] not in MORE_DOORS:
                yield f"{path}:{number}: enter {other} by {other}/{other}.h, not {found[1]}"


def check_cmake(path, layers):
    stated = {}
    for arguments in re.findall(r"^calla_room\(([^)]*)\)", path.read_text(encoding="utf-8"), re.M):
        room, *others = arguments.split()
        stated[room] = set(others)
    for room in sorted(set(layers) | set(stated)):
        if room not in stated:
            yield f"{path}: calla_room({room} ...) is missing"
        elif room not in layers:
            yield f"{path}: calla_room({room} ...) is not in the layers block"
        elif stated[room] != layers[room]:
            yield f"{path}: {room} links {sorted(stated[room])}, the layers block says {sorted(layers[room])}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    layers = read_layers((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    bad = [f"ARCHITECTURE.md: {room} is part of a circle" for room in find_cycles(layers)]
    bad += check_includes(root / "src", layers)
    bad += check_cmake(root / "CMakeLists.txt", layers)
    print("\n".join(bad) or "layers: ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
