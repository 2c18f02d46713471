"""Settings of a task: the named confs, files of yours, and overrides of the command line, composed and checked."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from mephisto_tasks import compat

compat.prepare()

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException, ValidationError
from pydantic import BaseModel

import mephisto_tasks.crowds.link.provider
import mephisto_tasks.crowds.mturk.provider  # noqa: F401  (both register providers, before anything is composed)
from mephisto_tasks.crowds.link.datastore import PROVIDER_TYPE as LINK_PROVIDER
from mephisto_tasks.crowds.link.doors import panel_of
from mephisto_tasks.crowds.link.panel import CODES, NO_PANEL
from mephisto_tasks.crowds.mturk.client import asks_this_machine, endpoint, is_loopback
from mephisto_tasks.engine.config import ConfigError
from mephisto_tasks.engine.task_folder import task_dir
from mephisto_tasks.router.architect import ARCHITECT_TYPE
from mephisto_tasks.router.security import origin
from mephisto_tasks.router.visitors import trusted_networks
from mephisto_tasks.study.addresses import is_web_address
from mephisto_tasks.study.blueprints import blueprint_of
from mephisto_tasks.study.launcher import MOCK_PROVIDER

SHARED_CONFS = Path(__file__).resolve().parents[1] / "engine" / "hydra_configs" / "conf"
"""What the tasks share: confs that each of them has, and where a task can be launched (``place/*.yaml``)."""

OVERRIDE = "models=embedded"
"""Any conf with models that need no download, to try it out on this machine."""
EMBEDDED = ("eliza", "retrieval", "dull", "degraded")
"""The better ones first."""
CHOICES = {
    "place": ("local", "Where raters come from. Goes with every conf."),
    "server": (
        "here",
        "Where pages are served: by the launch, or elsewhere by Mephisto's router. Goes with every conf.",
    ),
    "workers": (
        "any",
        "Who may take part, as a paper has it; workers.… of the blueprint says more. Goes with every conf.",
    ),
}
"""Settings of one word, which names a file in a folder of :data:`SHARED_CONFS`: the default, and what is chosen."""
BLUEPRINT = "mephisto.blueprint."
PANEL_VALUES = "mephisto.provider.values."
"""Before the names of what a panel's file asks for."""
_PANEL_CODES = tuple(f"mephisto.provider.{name}" for name in CODES.values())
_PARTS = ("base", "live", "static")
"""Confs that others are made of."""
_OPTIONAL = ("block_qualification", "server_source_path", "server_type")
"""Settings that Mephisto declares as missing and does without."""
_OTHERS = [
    ("models", "", "models=embedded puts models that need no download in the place of a conf's own."),
    *((name, default, what) for name, (default, what) in CHOICES.items()),
    ("mephisto.architect.hostname", "127.0.0.1", "Address to listen on; 0.0.0.0 lets other machines in."),
    ("mephisto.architect.port", "3000", "Port to listen on; 0 takes any free one."),
    ("mephisto.architect.public_url", "", "The https address that crowd workers use."),
    (
        "mephisto.architect.trusted_proxies",
        "[]",
        "Addresses of the reverse proxies before this machine: what they say of a rater's address is believed.",
    ),
    ("mephisto.architect.disconnect_after_s", "300", "Seconds without a sign of life after which a rater has left."),
    ("mephisto.architect.frame_sites", "[]", "Sites besides MTurk's that may show the page in a frame: [https://…]."),
    ("mephisto.provider.requester_name", "", "The account that launches (MTurk)."),
    ("mephisto.provider.bonus_budget", "0", "Dollars set aside for bonuses, shown in the total of a launch (MTurk)."),
    ("mephisto.provider.auto_approval_delay_in_seconds", "604800", "When MTurk approves what nobody has judged."),
    ("mephisto.provider.panel", "", "With place=link: prolific, sona, cloudconnect, toloka, a YAML file, or none."),
    ("mephisto.provider.completion_code", "", "The panel's code for who has done the task (place=link)."),
    ("mephisto.provider.screen_out_code", "", "The panel's code for who may not take part (place=link)."),
    ("mephisto.provider.no_consent_code", "", "The panel's code for who does not want to take part (place=link)."),
    ("mephisto.provider.time_out_code", "", "The panel's code for who was away for too long (place=link)."),
    ("mephisto.provider.values", "{}", "What else the panel asks for, each as mephisto.provider.values.NAME=… (SONA)."),
    ("mephisto.task.task_name", "", "Name of the study; launches of one name go on with each other."),
    ("mephisto.task.task_reward", "", "Pay for a unit of work, in dollars."),
    ("mephisto.task.assignment_duration_in_seconds", "3600", "How long a worker may keep a unit (MTurk)."),
    ("mephisto.task.task_lifetime_in_seconds", "2678400", "How long units are offered (MTurk)."),
    ("mephisto.task.max_num_concurrent_units", "0", "Units open at once, at most (HITs on MTurk); 0: all."),
]
_QUOTED = re.compile(r"""(["']).*\1""", re.DOTALL)
_NO_LIST = "str is not a ListConfig, list or tuple."
"""OmegaConf's words for a setting that wants a list."""
_NO_SUCH = re.compile(r"Could not override '([^']+)'")
"""Hydra's words for a setting that there is not; its advice, a plus sign, would make one that nothing reads."""
_SECTIONS = ("blueprint", "architect", "provider", "task")


def conf_names(task: str) -> list[str]:
    """The confs of a task that can be launched by name."""
    folders = (task_dir(task) / "hydra_configs" / "conf", SHARED_CONFS)
    return sorted({path.stem for folder in folders for path in folder.glob("*.yaml")} - set(_PARTS))


def choices(name: str) -> list[str]:
    """The words that a setting of :data:`CHOICES` takes."""
    return sorted(path.stem for path in (SHARED_CONFS / name).glob("*.yaml"))


def compose_config(task: str, conf: str, overrides: Sequence[str] = ()) -> DictConfig:
    """Settings of a task: a named conf (or the path of a YAML file of yours) and hydra overrides.

    ``models=embedded`` among these puts models that need no download in the place of the conf's.

    Raises:
        ConfigError: unknown conf, unknown setting, or a required setting that is missing.
    """
    confs = task_dir(task) / "hydra_configs" / "conf"
    model = blueprint_of(task).CONFIG
    config_fields = {**all_settings(model), **model.model_fields}  # a block may be set as a whole
    embedded = OVERRIDE in overrides
    overrides = [override for override in overrides if override != OVERRIDE]
    for override in overrides:
        _check_name(override, [BLUEPRINT + name for name in config_fields])
    config_dir, config_name = confs, conf
    if conf.endswith((".yaml", ".yml")):
        own = Path(conf).expanduser().resolve()
        if not own.is_file():
            raise ConfigError(f"there is no file {own}")
        config_dir, config_name = own.parent, own.stem
    elif conf not in conf_names(task):
        raise ConfigError(f"{task} has no conf {conf!r}; choose one of: {', '.join(conf_names(task))}, or a .yaml file")
    elif not (confs / f"{conf}.yaml").is_file():
        config_dir = SHARED_CONFS
    search = f"hydra.searchpath=['file://{confs}','file://{SHARED_CONFS}']"
    try:
        with warnings.catch_warnings(), initialize_config_dir(config_dir=str(config_dir), version_base="1.3"):
            warnings.filterwarnings("ignore", "provider=mephisto-profiles")  # Mephisto's profile folders need not exist
            composed = compose(config_name=config_name, overrides=[search, *map(_letter_by_letter, overrides)])
        _on_this_machine(composed)
        missing = OmegaConf.missing_keys(composed)
    except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
        if unknown := _NO_SUCH.search(str(error)):
            raise _no_setting(unknown[1], [BLUEPRINT + name for name in config_fields]) from error
        if (unreadable := _unreadable(overrides)) is not None:
            raise ConfigError(
                f"{unreadable} cannot be read: close all brackets, and put a value with signs beyond letters, digits and "
                "_ - . : / in double quotes, and the whole setting in single ones: 'NAME=\"VALUE\"'"
            ) from error
        raise ConfigError(f"conf {conf!r}: {_first_lines(error)}") from error
    _check_sections(composed, conf)
    if embedded:
        use_embedded(composed)
    _let_overrides_rule(composed, overrides)
    needed = sorted(key for key in missing if not key.endswith(_OPTIONAL)) + _needed_by_crowd(composed)
    if needed:
        place = next((f" with {override}" for override in overrides if override.startswith("place=")), "")
        raise ConfigError(f"conf {conf!r}{place} needs these settings: " + ", ".join(f"{key}=…" for key in needed))
    _check_address(composed)
    _check_sites(composed)
    if composed.mephisto.provider._provider_type == LINK_PROVIDER:
        panel_of(composed.mephisto.provider)
    return composed


def _unreadable(overrides: Sequence[str]) -> str | None:
    """The first setting that is written as hydra cannot read it, if one is."""
    parser = OverridesParser.create()
    for override in overrides:
        try:
            parser.parse_override(_letter_by_letter(override))
        except HydraException:
            return override
    return None


def _let_overrides_rule(config: DictConfig, overrides: Sequence[str]) -> None:
    """A setting of the command line rules over the variants of the technique, which would set it again."""
    for override in overrides:
        name = override.partition("=")[0].lstrip("+").removeprefix(BLUEPRINT)
        for variant in config.mephisto.blueprint.get("variants", {}).values():
            if name in variant:
                variant[name] = config.mephisto.blueprint[name]


def _needed_by_crowd(config: DictConfig) -> list[str]:
    """What a launch on a crowd lacks, whose defaults are for this machine."""
    if _is_local(config):
        return []
    architect = config.mephisto.architect
    here = asks_this_machine(str(config.mephisto.provider._provider_type))
    needed = [] if here or architect.public_url else ["mephisto.architect.public_url"]
    blueprint = config.mephisto.blueprint
    live = "group_size" in blueprint  # who judges finished dialogues judges the models that speak in them
    return [*needed, BLUEPRINT + "models"] if live and not (blueprint.models or blueprint.groups) else needed


def _is_local(config: DictConfig) -> bool:
    provider = config.mephisto.provider
    # Invitations may go to people in the same room, or the same network.
    invited = provider._provider_type == LINK_PROVIDER and provider.panel == NO_PANEL
    local_provider = provider._provider_type == MOCK_PROVIDER or invited
    return bool(local_provider or config.mephisto.architect._architect_type != ARCHITECT_TYPE)


def _on_this_machine(config: DictConfig) -> None:
    """A stand-in for MTurk on this machine finds the page on this machine: it needs no public address, nor https."""
    mephisto = config.get("mephisto")
    provider = None if mephisto is None else mephisto.get("provider")
    if provider is None or not asks_this_machine(str(provider._provider_type)):
        return
    if OmegaConf.is_missing(mephisto.architect, "public_url"):
        mephisto.architect.public_url = ""
    sites = list(mephisto.architect.get("frame_sites") or ())
    mephisto.architect.frame_sites = [*sites, endpoint(str(provider._provider_type)).rstrip("/")]


def _check_address(config: DictConfig) -> None:
    """Workers of a crowd must not be sent to an address that only this machine knows, or that their browser refuses."""
    architect = config.mephisto.architect
    try:
        trusted_networks(architect.get("trusted_proxies") or ())
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if _is_local(config):
        public = str(architect.get("public_url") or "")
        if public and not is_web_address(public):
            raise ConfigError(f"mephisto.architect.public_url={public} is no address: https://study.example.org is one")
        return
    here = not architect.public_url or is_loopback(str(architect.public_url))
    if here and asks_this_machine(str(config.mephisto.provider._provider_type)):
        return
    if not str(architect.public_url).startswith("https://"):
        raise ConfigError(
            "crowd workers need an https address that reaches this machine: "
            f"mephisto.architect.public_url=https://… (now {str(architect.public_url)!r})"
        )


def _check_sites(config: DictConfig) -> None:
    try:
        for site in config.mephisto.architect.get("frame_sites") or ():
            origin(site)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def all_settings(config: type[BaseModel]) -> dict[str, str]:
    """Name → what it is, of every setting; those of a block by the block's name, a dot and their own."""
    found: dict[str, str] = {}
    for name, info in config.model_fields.items():
        block = info.annotation
        if isinstance(block, type) and issubclass(block, BaseModel):
            found |= {f"{name}.{inner}": what for inner, what in all_settings(block).items()}
        else:
            found[name] = info.description or ""
    return found


def describe_settings(task: str) -> list[tuple[str, str, str]]:
    """Of every setting: full name, the task's default as text, one line of what it is."""
    composed = compose_config(task, "local")
    blueprint = composed.mephisto.blueprint
    described = []
    for name, what in all_settings(blueprint_of(task).CONFIG).items():
        value = None if OmegaConf.is_missing(blueprint, name) else OmegaConf.select(blueprint, name)
        described.append((BLUEPRINT + name, _as_text(value), what.replace("``", "")))
    others = [(name, _as_text(OmegaConf.select(composed, name, default=text)), what) for name, text, what in _OTHERS]
    others = [
        (name, default, f"{what} One of: {', '.join(choices(name))}." if name in CHOICES else what)
        for name, default, what in others
    ]
    return [*described, *others]


def _as_text(value: object) -> str:
    """As it is written on the command line."""
    plain = OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    return (
        ""
        if plain == ""
        else yaml.safe_dump(plain, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    )


def _check_name(override: str, setting_names: Sequence[str]) -> None:
    """A misspelt setting is an error with the nearest right one; hydra would offer to add it as a new one."""
    name, _, value = override.partition("=")
    name = name.lstrip("+~")
    if name == "models":
        raise ConfigError(
            "models=… takes one word only, models=embedded; models by name: mephisto.blueprint.models=[a,b]"
        )
    if name in CHOICES:
        words = choices(name)
        if value not in words:
            raise ConfigError(f"there is no {name} {value!r}; choose one of: {', '.join(words)}")
        return
    of_variant = name.startswith(BLUEPRINT + "variants.")
    if of_variant or name in setting_names or (name.startswith("mephisto.") and not name.startswith(BLUEPRINT)):
        return
    raise _no_setting(name, setting_names)


def _no_setting(name: str, setting_names: Sequence[str]) -> ConfigError:
    """The error for a misspelt setting, with the nearest right one: of its section, where its name says which."""
    section = ".".join(name.split(".")[:2]) if name.startswith("mephisto.") else ""
    all_names = [*(full for full, _, _ in _OTHERS), *setting_names]
    of_section = [full for full in all_names if full.startswith(section)] or all_names
    short = {full.rpartition(".")[2]: full for full in of_section}
    near = difflib.get_close_matches(name.rpartition(".")[2], short, n=1, cutoff=0.5)
    meant = f" Did you mean {short[near[0]]}=…?" if near else ""
    return ConfigError(
        f"there is no setting {name!r}.{meant} `parlai-humaneval launch TASK --list-settings` shows all."
    )


def _letter_by_letter(override: str) -> str:
    """What a panel takes is no number, though it may look like one: hydra would read the code 73E91204 as infinity.

    Its values are new names to hydra, one set for each panel.
    """
    name, _, value = override.partition("=")
    plain = name.lstrip("+")
    is_value = plain.startswith(PANEL_VALUES)
    if not (is_value or plain in _PANEL_CODES) or name.startswith("~"):
        return override
    if is_value:
        name = f"++{plain}"
    return f"{name}={value if _QUOTED.fullmatch(value) else _in_quotes('' if value == 'null' else value)}"


def _in_quotes(value: str) -> str:
    """As hydra's grammar has it, in which a backslash is one but before a quote."""
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), value)
    return f"'{escaped}'"


def _check_sections(config: DictConfig, conf: str) -> None:
    missing = [section for section in _SECTIONS if OmegaConf.select(config, f"mephisto.{section}") is None]
    if missing:
        raise ConfigError(
            f"conf {conf!r} lacks mephisto.{missing[0]}. A file of yours begins with a conf of the task:\n"
            "  #@package _global_\n  defaults: [local, _self_]"
        )


def _first_lines(error: Exception) -> str:
    """What Hydra says, and why, which stands in the error behind it alone."""
    said = " ".join(str(error).strip().splitlines()[:3])
    if not isinstance(error.__cause__, ValidationError):
        return said
    why = str(error.__cause__).splitlines()[0]
    if why.endswith(_NO_LIST):
        why = f"a list is expected, in brackets: [{said.rpartition('=')[2]}]"
    return f"{said}: {why}"


def use_embedded(config: DictConfig) -> None:
    """Put embedded models in the place of a conf's own, as many as stand together there.

    Groups become all that these models make; models lose their personas; fewer speak in a dialogue, and a unit holds
    fewer conversations, where there are not enough of them.
    """
    blueprint = config.mephisto.blueprint
    if "group_size" not in blueprint:  # finished dialogues: the models only talk to each other
        blueprint.models, blueprint.groups = list(EMBEDDED[:3]), []
        return
    control = str(blueprint.quality_control_model)
    free = [name for name in EMBEDDED if name != control]
    size = min(int(blueprint.group_size), len(free))
    models = free[: size if size > 1 else 3]
    blueprint.models, blueprint.groups, blueprint.bot_persona = models, [], False
    blueprint.group_size = size
    most = len(models) + bool(control) if size == 1 else 1
    blueprint.conversations_per_unit = min(int(blueprint.conversations_per_unit), most)
