"""Settings of a task: the named confs, your files, and overrides of the command line, composed and checked."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

import pydantic
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException, ValidationError
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from mephisto_tasks.adapter import settings_model
from mephisto_tasks.config.files import as_typed, conf_file, in_quotes, not_a_list, read_short_conf, task_dir
from mephisto_tasks.config.names import (
    BLUEPRINT,
    OPEN,
    PLAIN_CONF,
    ROOT,
    SECTIONS,
    in_full,
    meanings,
    name_of,
    no_setting,
    short_name,
)
from mephisto_tasks.config.task import ARCHITECT_TYPE, ArchitectSettings, ConfigError, explained
from mephisto_tasks.crowds.registry import conf_folders, crowd_in, crowds, default_place, register_providers
from mephisto_tasks.server.hosts import is_web_address, opens_elsewhere, public_names
from parlai_humaneval._util.data_files import not_yaml, read_yaml
from parlai_humaneval._util.errors import choose_from, misspelt
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.i18n.translate import offered, worded
from parlai_humaneval.techniques.questions import pair_question
from parlai_humaneval.techniques.registry import technique, techniques

if TYPE_CHECKING:
    from mephisto_tasks.config.files import ShortConf
    from mephisto_tasks.crowds.crowd import Crowd
    from parlai_humaneval.planning.preregistration import Preregistration

EMBEDDED_WORD = "embedded"
"""A setting of its own: ``embedded=true`` puts models that need no download in the place of a conf's own."""
OLD_EMBEDDED = ("models=embedded", "mephisto.blueprint.models=embedded")
"""As it was said at first; a list of one model of that name is ``models=[embedded]``."""
EMBEDDED = ("eliza", "retrieval", "dull", "degraded")  # the better ones first
_PARTS = ("base", "live", "static")  # confs that others are made of
_OPTIONAL = ("block_qualification", "server_source_path", "server_type")
"""Settings that Mephisto declares as missing and does without."""
_QUOTED = re.compile(r"""(["']).*\1""", re.DOTALL)
_NO_LIST = "str is not a ListConfig, list or tuple."  # OmegaConf's words for a setting that wants a list
_NO_SUCH = re.compile(r"Could not override '([^']+)'")
"""Hydra's words for a setting that there is not; its advice, a plus sign, would make one that nothing reads."""
_CONVERTED = re.compile(r"could not be converted to (\w+)")  # OmegaConf's words for a value of another kind
_NULL = re.compile(r"(?:is not Optional|Incompatible value 'None').*?full_key: (\S+)", re.DOTALL)
_KINDS = {"Float": "a number", "Integer": "a whole number", "Boolean": "true or false"}


# The pay of a packaged conf applies where a crowd is paid; trials promise none, unless it is set.
OmegaConf.register_new_resolver(
    "promised", lambda reward, *, _root_: 0 if crowd_in(_root_).is_practice else reward, replace=True
)

SHARED_CONFS = Path(__file__).resolve().parents[1] / "config" / "hydra_configs" / "conf"
"""What the tasks share: confs that each of them has, where it can be served from, and who may take part."""


class Words(BaseModel, use_attribute_docstrings=True):
    """Settings of one word, which names a file in a folder of :data:`SHARED_CONFS`; they go with every conf."""

    place: str = Field(default_factory=default_place)
    """Where raters come from."""
    server: str = "here"
    """What serves the pages: the launch itself, or Mephisto's router elsewhere. Use the router if this machine
    cannot be reached from outside."""
    workers: str = "any"
    """Preset for who may take part, such as a paper's. Settings like workers.locales refine it. You can only replicate
    a paper's results with similar people."""


class Task(BaseModel, use_attribute_docstrings=True):
    """Settings below ``mephisto.task``."""

    task_name: str = Field(default="", min_length=1)
    """Name of the study. Launches with the same name continue each other, and you later find the answers by it."""
    task_reward: float = Field(default=0, ge=0)
    """Reward per assignment, in the currency of the crowd's account: US dollars, unless currency=… names another. Work
    out the hourly rate: payment.minimum warns if it is too low. A local launch promises no pay unless you set it."""
    assignment_duration_in_seconds: int = Field(default=3600, ge=30)
    """How long a rater may keep an assignment, if the crowd's site lists them. A forgotten assignment becomes available
    again afterwards. Too short a time cuts people off."""
    task_lifetime_in_seconds: int = Field(default=2678400, ge=30)
    """How long assignments are offered, if the crowd's site lists them. Those that nobody accepts by then are removed
    from the site."""
    max_num_concurrent_units: int = Field(default=0, ge=0)
    """Maximum number of open assignments; 0: all. Fewer keep models fast, and let you stop sooner."""


Section = Literal["task", "architect", "provider"]
Takes = Callable[["Crowd"], object]  # Raises HumanevalError where a command has no use for the crowd
WORDS = tuple(Words.model_fields)
OTHERS: Sequence[str] = read_yaml(Path(__file__).with_name("others.yaml"))
"""Names below ``mephisto`` that Mephisto and our server have, as :func:`check_first` cannot wait for them."""
_AMOUNT, _KEPT = BLUEPRINT + "judgements_per_group", BLUEPRINT + "keep_pairs"
_CHOSEN_BY = {"architect": "server", "provider": "place"}


def documented() -> list[tuple[Section, type[BaseModel]]]:
    """Section → the settings that are documented there; those below ``mephisto.provider`` are of each crowd."""
    of_crowds = dict.fromkeys(crowd.Settings for crowd in crowds())
    return [("task", Task), ("architect", ArchitectSettings), *(("provider", settings) for settings in of_crowds)]


def choices(word: str) -> list[str]:
    return sorted({path.stem for folder in (SHARED_CONFS, *conf_folders()) for path in (folder / word).glob("*.yaml")})


def where_it_goes(full: str) -> list[str]:
    """The words with which there is this setting, such as ``place=NAME``; none where it does not depend on them."""
    word = _CHOSEN_BY.get(full.split(".")[1])
    if word is None:
        return []
    known = {ARCHITECT_TYPE: "here", **{crowd.provider_type: crowd.place for crowd in crowds()}}
    from mephisto_tasks.adapter.blueprint import mephisto_settings

    kinds = [known.get(kind, kind) for kind in mephisto_settings().get(full, [])]
    return [f"{word}={kind}" for kind in sorted(kinds) if kind in choices(word)]


def conf_names(task: str) -> list[str]:
    return sorted({path.stem for folder in _folders(task) for path in folder.glob("*.yaml")} - set(_PARTS))


def _folders(task: str) -> list[Path]:
    return [task_dir(task) / "hydra_configs" / "conf", SHARED_CONFS, *conf_folders()]


class MissingSettings(ConfigError):
    """Settings that must be given, such as the address of this machine; ``names``: which."""

    def __init__(self, names: Sequence[str], what: str, *, try_: Sequence[str]) -> None:
        super().__init__(what, try_=try_)
        self.names = names


def _refuse_missing(needed: Sequence[str], crowd: Crowd, conf: str, overrides: Sequence[str]) -> None:
    if needed:
        place = next((f" with {override}" for override in overrides if override.startswith("place=")), "")
        names = [short_name(key) for key in needed]
        closed, lacking = crowd.status(), " ".join(f"{name}=…" for name in names)
        advice = [f"{closed}."] * bool(closed) + [f"add {lacking}"]
        raise MissingSettings(names, f"conf {conf!r}{place} needs more settings", try_=advice)


def compose_config(task: str, conf: str, overrides: Sequence[str] = (), *, beneath: Sequence[str] = ()) -> DictConfig:
    """Settings of a task: a named conf or a file, and overrides above those ``beneath``. Raises ConfigError."""
    # Mephisto and the server take seconds to load, which checks of what was typed need not wait for.
    from mephisto_tasks.adapter.blueprint import mephisto_settings
    from mephisto_tasks.server.security import origin

    known = [*blueprint_names(settings_model(task)), *sorted(mephisto_settings())]
    of_file = read_short_conf(conf, task)
    own = [] if of_file is None else of_file.overrides
    conf = conf if of_file is None else of_file.conf
    registered = _registered(task, [*own, *beneath, *overrides])
    if registered is None:
        beneath = [*own, *beneath]
    else:  # nobody typed what lies beneath, so that it gives way
        of_registered = [f"{name}={as_typed(value)}" for name, value in registered.settings.items()]
        rest = [override for override in beneath if short_name(name_of(override)) not in registered.settings]
        beneath = [*of_registered, *own, *rest]
    embedded = _wants_embedded([*beneath, *overrides])
    given, typed = (_of_known_names(part, known, task, of_file) for part in (beneath, overrides))
    overrides = [*given, *typed]
    composed = _composed(task, conf, overrides, known)
    missing = [section for section in SECTIONS if OmegaConf.select(composed, f"mephisto.{section}") is None]
    if missing:
        raise ConfigError(worded(__file__, "no_section", conf=conf, section=missing[0]))
    if registered is not None:  # from here on the study uses the settings that were read, wherever the file is
        composed.mephisto.blueprint.prereg = registered.canonical
    if embedded:
        for override in typed:
            if name_of(override) in (BLUEPRINT + "models", BLUEPRINT + "groups"):
                what = f"embedded models in place of all others, but {short_name(override)} names other models"
                raise ConfigError(f"embedded=true uses {what}", try_="leave one of them out")
        use_embedded(composed)
    if not embedded:
        # If somebody names dialogues, but no models, these are judged, and a preset's models do not talk first.
        given = composed.mephisto.blueprint
        named = {name_of(one).removeprefix(BLUEPRINT) for one in overrides}
        talks = "generate" in named or given.get("generate")  # of some tasks only
        if talks and "dialogues" in named and given.dialogues and not named & {"models", "groups"}:
            if "generate" not in named:
                given.generate = ""
            if not given.generate:
                given.models, given.groups = [], []
    for override in overrides:  # they rule over variants, too
        name = name_of(override).removeprefix(BLUEPRINT)
        for variant in composed.mephisto.blueprint.get("variants", {}).values():
            if name in variant:
                variant[name] = composed.mephisto.blueprint[name]
    if composed.mephisto.blueprint.get("keep_pairs") and not any(name_of(one) == _KEPT for one in overrides):
        preset = read_yaml(task_dir(task) / "hydra_configs" / "conf" / "base.yaml")["mephisto"]["blueprint"]
        is_preset = composed.mephisto.blueprint.judgements_per_group == preset["judgements_per_group"]
        composed.mephisto.blueprint.keep_pairs = is_preset and not any(name_of(one) == _AMOUNT for one in overrides)
    needed = sorted(key for key in _missing(composed) if not key.endswith(_OPTIONAL))
    _refuse_missing([*needed, *_needed_by_crowd(composed)], crowd_in(composed), conf, overrides)
    composed.mephisto.task.task_reward = composed.mephisto.task.task_reward  # a number in what Mephisto stores
    _check_bounds(composed, task)
    _check_address(composed)
    for site in composed.mephisto.architect.get("frame_sites") or ():
        origin(site)
    try:
        crowd_in(composed).check(dict(composed.mephisto.provider))
    except ConfigError as error:
        if error.try_:
            raise
        setting = f" {error.where}" if f"{ROOT}provider.{error.where}" in known else ""
        raise ConfigError(error, try_=f"see `parlai-humaneval launch {task} --list-settings{setting}`") from error
    return composed


def _of_known_names(overrides: Sequence[str], known: Sequence[str], task: str, of_file: ShortConf | None) -> list[str]:
    """Overrides by their full names. Raises ConfigError: there is no such setting, or it has two values."""
    typed = [one for one in overrides if not (one in OLD_EMBEDDED or name_of(one) == EMBEDDED_WORD)]
    full = in_full(typed, known, WORDS)
    for override in full:
        try:
            check_name(override, known, task)
        except ConfigError as error:
            raise ConfigError(error, where=_line_of(override, of_file)) from error
    return full


def _line_of(override: str, of_file: ShortConf | None) -> str:
    return of_file.where(name_of(override)) if of_file is not None and override in of_file.overrides else ""


def check_first(task: str, conf: str, overrides: Sequence[str], takes: Takes | None = None) -> ArchitectSettings | None:
    """Check single settings, before Mephisto and ParlAI are loaded, and if ``takes`` accepts the crowd, what it needs; the
    rest is left to :func:`compose_config`. Where it will listen, None if that is not known yet. Raises HumanevalError."""
    of_file = read_short_conf(conf, task)
    overrides = [*([] if of_file is None else of_file.overrides), *overrides]
    _file_of(task, conf if of_file is None else of_file.conf)
    model, entry, parser = settings_model(task), technique(task), OverridesParser.create()
    of_crowds = [f"{ROOT}provider.{name}" for crowd in crowds() for name in crowd.Settings.model_fields]
    known = [*blueprint_names(model), *(ROOT + name for name in OTHERS), *of_crowds]
    full = _of_known_names(overrides, known, task, of_file)
    last = {short_name(name_of(override)): override for override in overrides}
    typed = OmegaConf.create({"mephisto": {"blueprint": {}, "task": {}, "architect": {}}})
    for override in full:
        if not override.startswith(("~", *WORDS)) and "${" not in override:
            try:
                value = parser.parse_override(_letter_by_letter(override)).value()
            except HydraException as error:
                raise _in_our_words(error, conf, full, known) from error
            OmegaConf.update(typed, name_of(override), value, force_add=True)
    given: Any = OmegaConf.to_container(typed.mephisto)
    _, own_variants = (given["blueprint"].pop(name, None) for name in ("technique", "variants"))
    for section, settings in (("blueprint", model), ("task", Task), ("architect", ArchitectSettings)):
        try:
            settings.model_validate(given[section])
        except pydantic.ValidationError as error:  # always: without the technique, no rule of several is applied
            single = [one for one in error.errors() if one["loc"] and not isinstance(one["input"], dict)]
            if wrong := [one for one in single if one["type"] not in ("missing", "extra_forbidden")]:
                raise explained(wrong, task, lambda setting: _line_of(last.get(setting, ""), of_file)) from error
    if of_file is None and conf.endswith((".yaml", ".yml")):
        return None  # Hydra reads the file, which may define what the following settings name
    blueprint = given["blueprint"]
    preset = read_yaml(task_dir(task) / "hydra_configs" / "conf" / "base.yaml")["mephisto"]["blueprint"]
    metric, named = str(blueprint.get("metric", preset["metric"])), blueprint.get("setting", [])
    variants = [*preset.get("variants", ()), "all"]
    for name in [named] if isinstance(named, str) else named:
        if len(variants) > 1 and name not in variants and own_variants is None:
            raise ConfigError(f"{task} has no setting {name!r}", **choose_from(name, variants))
    asks = "" if blueprint.get("question") or preset.get("question") else preset.get("show", entry.engine)
    if asks == "pair":
        pair_question(metric, task)
    elif asks == "live" and not any(metric in questions for questions in entry.questions_of.values()):
        entry.question(metric)
    folder = str(blueprint.get("languages_dir") or "")
    offered(str(blueprint.get("language", "en")), Path(folder).expanduser() if folder else None)
    for name, reader in read_yaml(Path(__file__).with_name("readers.yaml")).items():
        if (file := OmegaConf.select(typed, BLUEPRINT + name)) not in (None, "", PACKAGED):
            resolve_name(reader)(Path(str(file)).expanduser())
    _registered(task, overrides)
    is_here = {"server=here"}.issuperset(override for override in full if name_of(override) == "server")
    is_plain = is_here and (conf if of_file is None else of_file.conf) == PLAIN_CONF and not _wants_embedded(overrides)
    if takes and is_plain and not any("${" in one or one.startswith(("~", BLUEPRINT + "prereg")) for one in full):
        _check_place(task, full, typed, takes)
    return ArchitectSettings.model_validate(given["architect"]) if is_here else None


def _check_place(task: str, overrides: Sequence[str], typed: DictConfig, takes: Takes) -> None:
    """Raises MissingSettings where the place needs settings that neither were typed nor are in the plain conf."""
    place = {name_of(one): one.partition("=")[2] for one in overrides}.get("place", default_place())
    files = ("base.yaml", f"{PLAIN_CONF}.yaml", f"place/{place}.yaml")
    paths = [path for file in files for folder in _folders(task) if (path := folder / file).is_file()]
    architect = {"_architect_type": ARCHITECT_TYPE, "public_url": ""}
    beneath: dict[str, Any] = {"architect": architect, "blueprint": {"models": [], "groups": []}, "provider": {}}
    config: Any = OmegaConf.merge({"mephisto": beneath}, *map(read_yaml, paths), typed)
    provider = config.mephisto.provider
    given = {name: provider[name] for name in provider if not OmegaConf.is_missing(provider, name)}
    crowd = next(crowd for crowd in crowds() if crowd.place == place and crowd.takes(given))
    takes(crowd)
    provider._provider_type = crowd.provider_type
    needed = [f"{ROOT}provider.{name}" for name in provider if OmegaConf.is_missing(provider, name)]
    _refuse_missing([*needed, *_needed_by_crowd(config)], crowd, PLAIN_CONF, overrides)


def blueprint_names(model: type[BaseModel]) -> list[str]:
    """Full names of a technique's settings; a block may be set as a whole."""
    return [BLUEPRINT + name for name in {**all_settings(model), **model.model_fields}]


def _composed(task: str, conf: str, overrides: Sequence[str], known: Sequence[str]) -> DictConfig:
    config_dir, config_name = _file_of(task, conf)
    from mephisto_tasks.adapter.blueprint import blueprint_of

    blueprint_of(task)
    register_providers()
    quoted = ",".join(f"'file://{folder}'" for folder in _folders(task))
    search = f"hydra.searchpath=[{quoted}]"
    try:
        with warnings.catch_warnings(), initialize_config_dir(config_dir=str(config_dir), version_base="1.3"):
            warnings.filterwarnings("ignore", "provider=mephisto-profiles")  # Mephisto's profile folders need not exist
            composed = compose(config_name=config_name, overrides=[search, *map(_letter_by_letter, overrides)])
        _on_this_machine(composed)
        _missing(composed)
    except yaml.YAMLError as error:  # in a file other than the conf, which was read before
        mark = getattr(error, "problem_mark", None)
        raise not_yaml(error, config_dir if mark is None else Path(mark.name), error=ConfigError) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"conf {conf!r} names a file that is not text in UTF-8", try_="save it as UTF-8") from error
    except (HydraException, OmegaConfBaseException) as error:
        raise _in_our_words(error, conf, overrides, known) from error
    return composed


def _file_of(task: str, conf: str) -> tuple[Path, str]:
    if conf.endswith((".yaml", ".yml")):
        own = conf_file(conf)
        return own.parent, own.stem
    names = conf_names(task)
    if conf not in names:
        known = f"choose one of: {', '.join(names)}, or a .yaml file"
        raise ConfigError(f"{task} has no conf {conf!r}", misspelt=misspelt(conf, names), try_=known)
    return next(folder for folder in _folders(task) if (folder / f"{conf}.yaml").is_file()), conf


def _in_our_words(error: Exception, conf: str, overrides: Sequence[str], known: Sequence[str]) -> ConfigError:
    if unknown := _NO_SUCH.search(str(error)):
        where = where_it_goes(unknown[1])
        if unknown[1] in known and where:
            what = f"{short_name(unknown[1])} is not a setting of this place"
            return ConfigError(what, try_=f"add {' or '.join(where)}, or leave it out")
        return no_setting(unknown[1], [name for name in known if name != unknown[1]])
    if null := _NULL.search(f"{error}\n{error.__cause__}"):
        return ConfigError(f"{short_name(null[1])} cannot be null", try_="write a value, or leave it out")
    for override in (override for override in overrides if override in str(error)):
        name, value = short_name(name_of(override)), override.partition("=")[2]
        if "Ambiguous value" in str(error):
            return not_a_list(name, value)
        if str(error.__cause__).partition("\n")[0].endswith(_NO_LIST):
            return ConfigError(f"{name}={value}: a list is expected, in brackets: '{name}=[{value}]'")
        if wanted := _CONVERTED.search(str(error.__cause__ or error)):
            kind = _KINDS.get(wanted[1], wanted[1])
            return ConfigError(f"{name}={value}: {kind} is expected, not {value!r}", try_=f"write {name}= and {kind}")
    parser = OverridesParser.create()
    for override in overrides:
        try:
            parser.parse_override(_letter_by_letter(override))
        except HydraException:
            return ConfigError(worded(__file__, "unreadable", short=short_name(override)))
    said = " ".join(str(error).strip().splitlines()[:3])
    why = f": {str(error.__cause__).splitlines()[0]}" if isinstance(error.__cause__, ValidationError) else ""
    return ConfigError(short_name(f"conf {conf!r}: {said}{why}"))


def _registered(task: str, overrides: Sequence[str]) -> Preregistration | None:
    """The study's registration, if a file is named. Raises ConfigError, PreregistrationError."""
    given = [override.partition("=")[2] for override in overrides if short_name(name_of(override)) == "prereg"]
    if not given or given[-1] in ("", "null"):
        return None
    from parlai_humaneval.planning.preregistration import read_preregistration  # plans take a while to load

    facts = read_preregistration(Path(given[-1].strip("'\"")).expanduser())
    if facts.technique != task:
        what = f"it registers a study with {facts.technique}, not with {task}"
        raise ConfigError(what, where=f"prereg={given[-1]}", try_=f"launch {facts.technique}, or name another file")
    return facts


def _wants_embedded(overrides: Sequence[str]) -> bool:
    for override in reversed(overrides):
        if override in OLD_EMBEDDED:
            return True
        if name_of(override) == EMBEDDED_WORD:
            value = override.partition("=")[2]
            if value.lower() not in ("true", "false"):
                what = f"embedded must be true or false, not {value!r}"
                raise ConfigError(what, try_="write embedded=true, or leave it out")
            return value.lower() == "true"
    return False


def _check_bounds(config: DictConfig, task: str) -> None:
    """Raises ConfigError where a setting besides those of the technique is out of its bounds: Mephisto knows none."""
    for section, model in documented():
        there = config.mephisto[section]
        # The server itself says which port it uses.
        bounded = [name for name, info in model.model_fields.items() if info.metadata and name != "port"]
        values = {name: there[name] for name in bounded if name in there and not OmegaConf.is_missing(there, name)}
        try:
            model.model_validate(values)
        except pydantic.ValidationError as error:
            raise explained(error.errors(), task) from error


def _missing(config: DictConfig) -> list[str]:
    """Settings without a value. Raises OmegaConf's error for one that takes the value of another which is not there."""
    from mephisto_tasks.storage.results import flat  # loads the records, which checks of what was typed do not need

    settings = flat(OmegaConf.to_container(config, resolve=True))
    return [name for name, value in settings.items() if value == "???" or (isinstance(value, list) and "???" in value)]


def _needed_by_crowd(config: DictConfig) -> list[str]:
    if _is_local(config):
        return []
    is_reached = crowd_in(config).stand_in() or config.mephisto.architect.public_url
    needed = [] if is_reached else ["mephisto.architect.public_url"]
    blueprint = config.mephisto.blueprint
    if PACKAGED in (blueprint.get("dialogues") or ()):
        needed.append(BLUEPRINT + "dialogues")  # nobody pays for judgements of our samples
    live = "group_size" in blueprint  # judges of finished dialogues judge the models that speak in them
    return [*needed, BLUEPRINT + "models"] if live and not (blueprint.models or blueprint.groups) else needed


def _is_local(config: DictConfig) -> bool:
    provider = config.mephisto.provider
    known = {name: provider[name] for name in provider if not OmegaConf.is_missing(provider, name)}
    return bool(crowd_in(config).is_near(known) or config.mephisto.architect._architect_type != ARCHITECT_TYPE)


def _on_this_machine(config: DictConfig) -> None:
    """A stand-in for a crowd's site on this machine finds the page here: it needs no public address, nor https."""
    mephisto = config.get("mephisto")
    provider = None if mephisto is None else mephisto.get("provider")
    stand_in = None if provider is None else crowd_in(config).stand_in()
    if stand_in is None:
        return
    if OmegaConf.is_missing(mephisto.architect, "public_url"):
        mephisto.architect.public_url = ""
    mephisto.architect.frame_sites = [*(mephisto.architect.get("frame_sites") or ()), stand_in]


def _check_address(config: DictConfig) -> None:
    """Workers of a crowd must not be sent to an address that only this machine knows, or that their browser refuses."""
    from mephisto_tasks.server.security import trusted_networks

    architect = config.mephisto.architect
    trusted_networks(architect.get("trusted_proxies") or ())
    public_names(architect.get("public_names") or ())
    if _is_local(config):
        public = str(architect.get("public_url") or "")
        if public and not is_web_address(public):
            raise ConfigError(f"public_url={public} is not an address such as https://study.example.org")
        return
    here = not architect.public_url or not opens_elsewhere(str(architect.public_url))
    if here and crowd_in(config).stand_in():
        return
    if not str(architect.public_url).startswith("https://"):
        what = "crowd raters need an https address that reaches this machine"
        raise ConfigError(what, try_=f"set public_url=https://… (now {str(architect.public_url)!r})")


def all_settings(config: type[BaseModel]) -> dict[str, FieldInfo]:
    """Name → field, of every setting; those of a block by the block's name, a dot and their own."""
    found: dict[str, FieldInfo] = {}
    for name, info in config.model_fields.items():
        block = info.annotation
        if isinstance(block, type) and issubclass(block, BaseModel):
            found |= {f"{name}.{inner}": field for inner, field in all_settings(block).items()}
        else:
            found[name] = info
    return found


def check_name(override: str, known: Sequence[str], task: str) -> None:
    """A misspelt setting is an error with the nearest right one; hydra would offer to add it as a new one."""
    name, value = name_of(override), override.partition("=")[2]
    if name in WORDS:
        words = choices(name)
        if value not in words:
            more = "" if name != "workers" else ", or set rules: workers.…"
            what = f"there is no {name} {value!r}"
            raise ConfigError(what, misspelt=misspelt(value, words), try_=f"choose one of: {', '.join(words)}{more}")
        return
    open_ended = name.startswith(tuple(f"{part}." for part in OPEN))
    if open_ended or name in known or (name.startswith(ROOT) and not name.startswith(BLUEPRINT)):
        return
    if short_name(name) in ("onboarding", "practice"):
        raise ConfigError(worded(__file__, "practice", name=short_name(name)))
    fields = all_settings(settings_model(task))
    fitting = [full for full in known if _takes(fields.get(full.removeprefix(BLUEPRINT)), value)]
    raise of_another_technique(task, name) or no_setting(name, [*fitting, *WORDS, EMBEDDED_WORD])


def _takes(field: FieldInfo | None, value: str) -> bool:
    """Whether a setting may have a value that is typed for a misspelt one."""
    try:
        given = yaml.safe_load(value)
        kind: Any = Any if field is None else field.annotation
        takes = pydantic.TypeAdapter[Any](kind)
        takes.validate_python(given, strict=isinstance(given, bool))  # else false is a number, too
    except (pydantic.ValidationError, yaml.YAMLError):
        return value == ""
    return True


def of_another_technique(task: str, name: str) -> ConfigError | None:
    """The error for a setting that only the techniques of the other engine have."""
    engine = technique(task).engine
    for other, entry in techniques().items():
        if entry.engine != engine and meanings(name, blueprint_names(settings_model(other))):
            whose = "talk to models" if entry.engine == "live" else "judge finished dialogues"
            facts = {"task": task, "short": short_name(name), "whose": whose, "other": other}
            return ConfigError(worded(__file__, "other_engine", **facts))
    return None


def _letter_by_letter(override: str) -> str:
    """Some settings of crowds look like numbers but are text (73E91204); names below them are new to hydra."""
    name, _, value = override.partition("=")
    plain = name.lstrip("+")
    literal = [f"{ROOT}provider.{setting}" for crowd in crowds() for setting in crowd.literal_settings]
    is_value = any(setting.endswith(".") and plain.startswith(setting) for setting in literal)
    if not (is_value or plain in literal) or name.startswith("~"):
        return override
    if is_value:
        name = f"++{plain}"
    return f"{name}={value if _QUOTED.fullmatch(value) else in_quotes('' if value == 'null' else value)}"


def use_embedded(config: DictConfig) -> None:
    """Put embedded models in the place of a conf's own, as many as stand together there: groups become all of theirs,
    personas go, and where there are too few models, fewer speak in a dialogue, and a unit is shorter."""
    blueprint = config.mephisto.blueprint
    if "group_size" not in blueprint:  # finished dialogues: the models only talk to each other
        in_samples = PACKAGED in blueprint.dialogues and not blueprint.generate
        is_pair = in_samples or (len(blueprint.models) == 2 and not set(blueprint.models) <= set(EMBEDDED))
        blueprint.models, blueprint.groups = list(EMBEDDED[: 2 if is_pair else 3]), []
        return
    control = str(blueprint.quality_control_model)
    free = [name for name in EMBEDDED if name != control]
    size = min(int(blueprint.group_size), len(free))
    models = free[: size if size > 1 else 3]
    blueprint.models, blueprint.groups, blueprint.bot_persona = models, [], False
    blueprint.group_size = size
    most = len(models) + bool(control) if size == 1 else 1
    blueprint.conversations_per_unit = min(int(blueprint.conversations_per_unit), most)
