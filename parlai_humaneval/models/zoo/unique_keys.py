"""YAML in which a key stands once: PyYAML takes the last of several, silently, and a model would be lost."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import ComposerError


class UniqueKeys(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses a key given twice in one mapping; one laid over a merged (``<<``) may stand."""

    def compose_mapping_node(
        self, anchor: Any
    ) -> yaml.MappingNode:  # the stubs take an anchor for a mapping; it is a name
        """The next mapping of the file, as written (merges are followed later).

        Raises:
            yaml.composer.ComposerError: for a key that stands twice; it names the key and its place.
        """
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise ComposerError(None, None, f"“{key.value}” stands twice; keep one of them", key.start_mark)
                seen.add(key.value)
        return node
