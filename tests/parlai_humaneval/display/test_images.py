"""Pictures from anybody: what is taken, what becomes of it, and what is refused in which words."""

from __future__ import annotations

import base64
import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from parlai_humaneval.display import images
from parlai_humaneval.display.images import ImageRefused, ImageStore, SeenImage, cleaned, decoded, images_in


def picture(kind: str = "PNG", size: tuple[int, int] = (64, 48), color: object = "teal", **save: object) -> bytes:
    file = BytesIO()
    Image.new("RGBA" if isinstance(color, tuple) and len(color) == 4 else "RGB", size, color).save(file, kind, **save)
    return file.getvalue()


def data_url(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_every_format_becomes_a_jpeg_of_the_same_size(kind: str) -> None:
    clean, width, height = cleaned(picture(kind))
    assert clean.startswith(b"\xff\xd8\xff")
    assert (width, height) == (64, 48) == Image.open(BytesIO(clean)).size


def test_nothing_but_pixels_is_kept_and_a_turned_photo_stands_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a phone that was held upright
    exif[0x010F] = "SECRET MAKER"
    exif.get_ifd(0x8825)[1] = "N"  # where it was
    clean, width, height = cleaned(picture("JPEG", exif=exif, comment=b"SECRET NOTE"))
    assert (width, height) == (48, 64)
    again = Image.open(BytesIO(clean))
    assert b"SECRET" not in clean
    assert not again.getexif()
    assert set(again.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def test_what_is_transparent_becomes_white_and_16_bits_of_grey_keep_their_shades() -> None:
    clean, *_ = cleaned(picture(color=(0, 0, 0, 0)))
    assert Image.open(BytesIO(clean)).getpixel((5, 5)) == (255, 255, 255)
    file = BytesIO()
    Image.new("I;16", (8, 8), 32_768).save(file, "PNG")
    grey = Image.open(BytesIO(cleaned(file.getvalue())[0])).getpixel((3, 3))
    assert grey == (128, 128, 128)


def test_large_pictures_are_made_smaller() -> None:
    _, width, height = cleaned(picture("JPEG", (4000, 1000)))
    assert (width, height) == (2048, 512)


def bomb() -> bytes:
    """A PNG of some hundred bytes that says to have 30,000 × 30,000 pixels."""
    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def gif() -> bytes:
    return picture("GIF")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", images.UNREADABLE),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", images.UNREADABLE),
        (b"<html><script>alert(1)</script>", images.UNREADABLE),
        (gif(), images.UNREADABLE),
        (picture()[:60], images.UNREADABLE),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 500, images.UNREADABLE),
        (b"x" * (images.MAX_BYTES + 1), images.TOO_LARGE),
        (bomb(), images.TOO_MANY_PIXELS),
    ],
    ids=["nothing", "svg", "html", "gif", "cut off", "magic alone", "too large", "bomb"],
)
def test_what_is_no_picture_or_too_large_is_refused_in_words(content: bytes, sentence: str) -> None:
    with pytest.raises(ImageRefused) as refusal:
        cleaned(content)
    assert str(refusal.value) == sentence


@pytest.mark.filterwarnings("error")
def test_a_bomb_that_pillow_does_not_mind_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    content = picture("PNG", (5001, 5000))
    monkeypatch.setattr(PngImageFile, "load", lambda self: pytest.fail("decoded"))
    with pytest.raises(ImageRefused, match="25 million"):
        cleaned(content)


def test_a_picture_is_written_once_private_and_by_its_digest(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "study" / "images")
    taken = store.take(picture())
    assert not store.folder.exists()
    assert store.read(taken.digest) is not None
    kept = store.keep(taken.digest, "a teal field")
    assert kept is not None
    assert kept.model_dump() == {"digest": taken.digest, "alt": "a teal field", "width": 64, "height": 48}
    assert store.take(picture("PNG", compress_level=1)).digest == taken.digest
    store.keep(taken.digest, "again")
    (path,) = store.folder.iterdir()
    assert path.name == f"{taken.digest}.jpg"
    assert path.stat().st_mode & 0o077 == 0 == store.folder.stat().st_mode & 0o077
    assert ImageStore(store.folder).read(taken.digest) == path.read_bytes()


@pytest.mark.parametrize("digest", ["", "../secret", "0" * 63, "A" * 64, f"../images/{'0' * 64}", "0" * 64 + "\n"])
def test_only_digests_are_read(tmp_path: Path, digest: str) -> None:
    (tmp_path / "secret.jpg").write_text("secret")
    assert ImageStore(tmp_path / "images").read(digest) is None
    assert ImageStore(tmp_path / "images").keep(digest, "") is None


def test_uploads_that_no_message_has_come_for_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ImageStore(tmp_path)
    first, second = (store.take(picture(color=color)).digest for color in ("red", "blue"))
    monkeypatch.setattr(images, "WAITING_BYTES", 1500)
    third = store.take(picture(color="green")).digest
    assert [store.read(digest) is None for digest in (first, second, third)] == [True, False, False]


def test_a_models_pictures_are_kept_and_others_are_left_out_with_the_reason(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "images")
    given = images_in(
        [
            {"type": "image_url", "image_url": {"url": data_url(picture())}, "alt": "teal"},
            {"type": "image_url", "image_url": {"url": "https://tracker.example/a.png"}},
            "file:///etc/passwd",
            data_url(picture(color="red")),
            {"type": "text", "text": "no picture"},
            7,
        ]
    )
    kept, left_out = store.keep_all(given)
    assert [image.alt for image in kept] == ["teal"]
    assert left_out == [images.ELSEWHERE, images.ELSEWHERE, "only the first 3 of 4 pictures of a reply are shown"]
    (seen,) = store.seen(kept)
    assert seen.url.startswith("data:image/jpeg;base64,")
    assert cleaned(decoded(seen.url))[1:] == (64, 48)
    assert images.pictures([kept[0].model_copy(update={"alt": ""})])[0].alt == images.NO_ALT


def test_bare_base64_is_taken_and_what_is_none_is_refused() -> None:
    assert decoded(base64.b64encode(b"abc").decode()) == b"abc"
    with pytest.raises(ImageRefused, match=images.UNREADABLE):
        decoded("data:image/png;base64,!!!")
    with pytest.raises(ImageRefused, match="10 MB"):
        decoded("data:image/png;base64," + "A" * 14_000_000)
    assert images_in("no list") == () == images_in([{"url": ""}])
    assert images_in([{"url": "data:,"}]) == (SeenImage("data:,"),)
