"""Pictures of people and models: untrusted bytes in, one clean format out, kept once each under their digest."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from parlai_humaneval._util.files import create_once, make_private_folder
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.records import ImageRecord
from parlai_humaneval.schema.wire import Picture

IMAGES_FIELD = "images"
"""Where a message carries pictures, as a tuple of :class:`SeenImage`."""
FORMATS = ("PNG", "JPEG", "WEBP")
SUFFIX = ".jpg"  # every server of vision models reads JPEG
MOST_IMAGES = 3  # of one message or reply
MAX_BYTES = 10_000_000  # as it comes
MAX_PIXELS = 25_000_000  # a small file can hold a picture that fills the memory
MAX_SIDE = 2048  # pixels; larger pictures are made smaller
KEPT_BYTES = 2_000_000  # as it is kept
QUALITIES = (90, 75, 60)
WAITING_BYTES = 100_000_000
"""Limit on uploads that no message has used yet; the oldest are dropped first."""

TOO_LARGE = phrase("That picture is larger than 10 MB. Please choose a smaller one.")
TOO_MANY_PIXELS = phrase("That picture has more than 25 million pixels. Please choose a smaller one.")
UNREADABLE = phrase("This picture cannot be read. Please choose a PNG, JPEG or WebP file.")
ELSEWHERE = "it is at another address, and pictures are not fetched from other addresses"
NO_ALT = phrase("A picture without a description")
PICTURE_ALONE = "(A picture.)"
"""The text of a reply that is nothing but a picture."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_decoding = threading.Lock()  # one picture at a time is large in memory


class ImageRefused(ValueError):
    """A picture cannot be taken; the message is a sentence for whoever sent it."""


@dataclass(frozen=True)
class SeenImage:
    """A picture on its way to or from a model. ``url``: a data URL; of a model's answer, whatever it gave for one."""

    url: str
    alt: str = ""


def images_in(given: Any) -> tuple[SeenImage, ...]:
    """The pictures in a list of a model's answer: data URLs, objects with ``url``, or chat completions' content parts."""
    return tuple(filter(None, map(_image_in, given if isinstance(given, list) else ())))


def _image_in(part: Any) -> SeenImage | None:
    if isinstance(part, str):
        return SeenImage(part)
    if not isinstance(part, Mapping):
        return None
    inner = part.get("image_url", part.get("url"))
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    alt = part.get("alt")
    return SeenImage(url, alt if isinstance(alt, str) else "") if isinstance(url, str) and url else None


def decoded(url: str) -> bytes:
    """The bytes of a data URL, or of bare base64. Raises ImageRefused, also for an address elsewhere."""
    data = _DATA_URL.match(url)
    if data is None and ":" in url[:40]:
        raise ImageRefused(ELSEWHERE)
    if len(url) > MAX_BYTES * 4 / 3 + 100:
        raise ImageRefused(TOO_LARGE)
    try:
        return base64.b64decode(url[data.end() if data else 0 :], validate=True)
    except ValueError as error:
        raise ImageRefused(UNREADABLE) from error


def cleaned(content: bytes) -> tuple[bytes, int, int]:
    """A JPEG of the first frame, upright, without anything but its pixels; its width and height. Raises ImageRefused."""
    from PIL import Image, ImageOps  # most launches have no pictures

    if len(content) > MAX_BYTES:
        raise ImageRefused(TOO_LARGE)
    try:
        with _decoding, Image.open(BytesIO(content), formats=FORMATS) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise ImageRefused(TOO_MANY_PIXELS)
            opened.draft("RGB", (MAX_SIDE, MAX_SIDE))
            image = ImageOps.exif_transpose(opened)
            if image.mode.startswith("I"):  # 16 bits of grey
                image = image.convert("I").point(lambda grey: grey / 256).convert("L")
            if image.has_transparency_data:
                layers = image.convert("RGBA")
                image = Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers)
            image = image.convert("RGB")
            image.thumbnail((MAX_SIDE, MAX_SIDE))
            image = Image.frombytes("RGB", image.size, image.tobytes())  # pixels, and no profile or comment
            for quality in QUALITIES:
                kept = BytesIO()
                image.save(kept, "JPEG", quality=quality)
                if kept.tell() <= KEPT_BYTES:
                    return kept.getvalue(), image.width, image.height
    except ImageRefused:
        raise
    except Image.DecompressionBombError as error:
        raise ImageRefused(TOO_MANY_PIXELS) from error
    except Exception as error:  # a damaged or hostile file may have Pillow raise anything
        raise ImageRefused(UNREADABLE) from error
    raise ImageRefused(TOO_LARGE)


class ImageStore:
    """The pictures of a study, in a folder that its owner alone can enter. An upload waits in memory until a message has
    it, so that the folder holds nothing that no record knows of. ``uploads``: whether people may send some, and not
    models alone. Thread-safe."""

    def __init__(self, folder: Path, *, uploads: bool = False) -> None:
        self.folder, self.uploads = folder, uploads
        self._waiting: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, content: bytes) -> ImageRecord:
        """Clean a picture and hold it for :meth:`keep`. Raises ImageRefused."""
        clean, width, height = cleaned(content)
        digest = hashlib.sha256(clean).hexdigest()
        with self._lock:
            self._waiting[digest] = clean
            self._waiting.move_to_end(digest)
            while sum(map(len, self._waiting.values())) > WAITING_BYTES:
                self._waiting.popitem(last=False)
        return ImageRecord(digest=digest, alt="", width=width, height=height)

    def keep(self, digest: str, alt: str) -> ImageRecord | None:
        """Write a picture that was taken to its file; None: it is not here. Raises OSError."""
        content = self.copy(digest, self)
        if content is None:
            return None
        with self._lock:
            self._waiting.pop(digest, None)
        from PIL import Image

        with Image.open(BytesIO(content), formats=("JPEG",)) as image:
            return ImageRecord(digest=digest, alt=alt, width=image.width, height=image.height)

    def copy(self, digest: str, store: ImageStore) -> bytes | None:
        """Write a picture of another store to a file here; its content, None: it is not there. Raises OSError."""
        content = store.read(digest)
        if content is not None:
            if not self.folder.is_dir():
                make_private_folder(self.folder)
            create_once(self.folder / f"{digest}{SUFFIX}", content)
        return content

    def read(self, digest: str) -> bytes | None:
        """The content of a picture; None: the picture is not here, or the digest is invalid."""
        if _DIGEST.fullmatch(digest) is None:
            return None
        with self._lock:
            if digest in self._waiting:
                return self._waiting[digest]
        path = self.folder / f"{digest}{SUFFIX}"
        return path.read_bytes() if path.is_file() else None

    def keep_all(self, images: Sequence[SeenImage]) -> tuple[list[ImageRecord], list[str]]:
        """Keep the pictures of a model's reply; the records, and why others were left out."""
        kept, left_out = [], []
        for image in images[:MOST_IMAGES]:
            try:
                record = self.keep(self.take(decoded(image.url)).digest, image.alt)
                kept += [] if record is None else [record]
            except ImageRefused as error:
                left_out.append(str(error))
        if len(images) > MOST_IMAGES:
            left_out.append(f"only the first {MOST_IMAGES} of {len(images)} pictures of a reply are shown")
        return kept, left_out

    def seen(self, images: Iterable[ImageRecord]) -> tuple[SeenImage, ...]:
        """Pictures of a record as a model gets them; one whose file is gone is left out."""
        found = [(image, self.read(image.digest)) for image in images]
        return tuple(
            SeenImage(f"data:image/jpeg;base64,{base64.b64encode(content).decode()}", image.alt)
            for image, content in found
            if content is not None
        )


def pictures(images: Iterable[ImageRecord]) -> list[Picture]:
    """Pictures of a record as the page gets them; without a description the page says so."""
    return [
        Picture(digest=image.digest, alt=image.alt or t(NO_ALT), width=image.width, height=image.height)
        for image in images
    ]
