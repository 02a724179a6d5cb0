"""`install`, `uninstall`, `doctor`: the bridge in the host, and what keeps it from working."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from attrs import asdict

from tavern_loader.adapters.doctor import Patient, examine
from tavern_loader.adapters.dsh_program import find_dsh
from tavern_loader.adapters.installing import Done, install, uninstall
from tavern_loader.adapters.profile_folder import Profile, profiles_with_bridge
from tavern_loader.adapters.stores import storage_root
from tavern_loader.commands.command import Command, Ended, Outcome, add_home, add_json
from tavern_loader.commands.showing import document_text, lines_text
from tavern_loader.domain.checkup import FAILED, Check
from tavern_loader.domain.dsh_profile import DEFAULT_PROFILE, check_profile_name


def _add_profile(
    parser: argparse.ArgumentParser,
    default: str | None = DEFAULT_PROFILE,
    meaning: str = "profile of the host; default: %(default)s",
) -> None:
    add_home(parser)
    parser.add_argument("--profile", metavar="NAME", default=default, help=meaning)
    add_json(parser)


def _add_install(parser: argparse.ArgumentParser) -> None:
    _add_profile(parser)
    _add_dsh(parser)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    others = f"every one that has the bridge, or {DEFAULT_PROFILE} if none has"
    _add_profile(parser, None, f"profile of the host; else {others}")
    _add_dsh(parser)


def _add_dsh(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dsh", metavar="FILE", help="the host's program, or its script; else dsh on the path"
    )


def _profile(options: argparse.Namespace) -> Profile:
    check_profile_name(options.profile)
    return Profile(home=_home(options), name=options.profile)


def _home(options: argparse.Namespace) -> Path:
    return storage_root(options.dsh_home, os.environ).parent


def _install(options: argparse.Namespace) -> Outcome:
    profile = _profile(options)
    done = install(profile, sys.executable, find_dsh(options.dsh))
    return _told(options, profile, done, _install_lines(done))


def _install_lines(done: Done) -> Iterator[str]:
    if not done.steps:
        yield "the bridge is installed already: nothing was changed"
        return
    yield from done.steps
    if done.is_checked:
        yield "asked the host: it takes the profile"
    else:
        yield "the host was not asked: there is no dsh on the path (see --dsh)"
    yield "start DSH again to use it"


def _uninstall(options: argparse.Namespace) -> Outcome:
    profile = _profile(options)
    done = uninstall(profile)
    kept = storage_root(options.dsh_home, os.environ)
    return _told(options, profile, done, _uninstall_lines(done, str(kept)))


def _uninstall_lines(done: Done, kept: str) -> Iterator[str]:
    if not done.steps:
        yield "the bridge is not installed: nothing was changed"
        return
    yield from done.steps
    yield f"kept all data: {kept}"


def _told(
    options: argparse.Namespace, profile: Profile, done: Done, lines: Iterator[str]
) -> Outcome:
    if not options.json:
        return lines_text(lines)
    return document_text(
        {
            "home": str(profile.home),
            "profile": profile.name,
            "changed": bool(done.steps),
            "steps": list(done.steps),
            "checked": done.is_checked,
        }
    )


def _doctor(options: argparse.Namespace) -> Outcome:
    profiles = (_profile(options),) if options.profile is not None else _profiles(_home(options))
    storage = storage_root(options.dsh_home, os.environ)
    patient = Patient(profiles=profiles, dsh=find_dsh(options.dsh), storage=storage)
    checks = list(examine(patient))
    if options.json:
        text = document_text({"checks": [asdict(one) for one in checks]})
    else:
        text = lines_text(_line(one, names_profile=len(profiles) > 1) for one in checks)
    return Ended(text, int(any(one.status == FAILED for one in checks)))


def _profiles(home: Path) -> tuple[Profile, ...]:
    """Give those that have the bridge; where none has, the one that would get it."""
    return profiles_with_bridge(home) or (Profile(home=home, name=DEFAULT_PROFILE),)


def _line(check: Check, *, names_profile: bool) -> str:
    remedy = f"; {check.remedy}" if check.remedy else ""
    about = f"{check.profile}: " if check.profile and names_profile else ""
    return f"{check.status:<5} {check.name:<8} {about}{check.fact}{remedy}"


COMMANDS = (
    Command(
        name="install",
        help="put the bridge into a profile of the host",
        description="Put the bridge into a profile of the host, so that it starts the Python of"
        " this environment. Can be run again at any time; if the host would not take the profile,"
        " it is put back as it was.",
        add_options=_add_install,
        run=_install,
    ),
    Command(
        name="uninstall",
        help="take the bridge out of a profile; what is kept stays",
        add_options=_add_profile,
        run=_uninstall,
    ),
    Command(
        name="doctor",
        help="look for what keeps it from working, with the remedy",
        description="Look at Python, Node, the host, its profiles, the bridge, the link and the"
        " stores: one line each, with the remedy. Changes nothing. Exit code 1 if something does"
        " not work.",
        add_options=_add_doctor,
        run=_doctor,
    ),
)
