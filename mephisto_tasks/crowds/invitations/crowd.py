"""People who are invited by link, each or as a class (``parlai-humaneval invite``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mephisto_tasks.crowds.crowd import CrowdWords, Forgotten, Invitations, Trace
from mephisto_tasks.crowds.invitations.entry import InvitationDoor, StudyInvitations
from mephisto_tasks.crowds.invitations.store import FILE, InvitationStore
from mephisto_tasks.crowds.link.crowd import Door, LinkCrowd, LinkLaunch
from mephisto_tasks.crowds.link.datastore import LINK
from mephisto_tasks.crowds.registry import register_crowd
from mephisto_tasks.storage.locks import study_folder

if TYPE_CHECKING:
    from mephisto_tasks.payments.ledger import Payer
    from mephisto_tasks.server.app import Guard


class InvitingCrowd(LinkCrowd):
    """A crowd whose raters may come with invitations."""

    place, provider_type = "link", LINK

    def invitations(self, data_dir: Path, task_name: str) -> Invitations | None:
        return StudyInvitations(data_dir, task_name)

    def guard(self, data_dir: Path, task_name: str, *, secure: bool) -> Guard | None:
        from mephisto_tasks.crowds.invitations.gate import Gate

        door = InvitationDoor(data_dir, task_name)
        return Gate(door, only_invited=self.Launch.only_invited, secure=secure).guarded


class InvitationLaunch(LinkLaunch):
    only_invited = True


class InvitationCrowd(InvitingCrowd):
    title = "Invitations"
    Launch = InvitationLaunch
    words = CrowdWords(where="by link", summary="sends raters your own invitations")

    def is_near(self, settings: Mapping[str, Any]) -> bool:
        """Invitations may go to people in the same room, or the same network."""
        return True

    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        return [InvitationDoor(data_dir, task_name)]

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> Payer:
        from mephisto_tasks.crowds.by_file import FilePayer

        names = InvitationStore(study_folder(data_dir, task_name)).names()
        return FilePayer(data_dir, task_name, self.provider_type, requester, self.title, names)

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        """The invitation, and that its guest came by it; a class's link stays, with its place free again."""
        return [
            Trace(
                study_folder(data_dir, task) / FILE,
                [
                    ("DELETE FROM guests WHERE worker = ?", (person.name,)),
                    ("DELETE FROM invitations WHERE worker = ?", (person.name,)),
                ],
            )
            for task in person.tasks
        ]

    def outside_ids(self, data_dir: Path, person: Forgotten) -> list[str]:
        return []

    def people(self, data_dir: Path, tasks: Sequence[str], worker_name: str | None = None) -> list[str]:
        texts = [
            text
            for task in tasks
            for invitation in InvitationStore(study_folder(data_dir, task)).all()
            if invitation.seats is None and worker_name in (None, invitation.worker)
            for text in (invitation.name, invitation.email)
        ]
        return list(dict.fromkeys(filter(None, texts)))


register_crowd(InvitationCrowd())
