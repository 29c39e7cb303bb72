"""The files of a directory, as git would take them into an index of its own."""

from __future__ import annotations

import os
from collections.abc import Callable

from kingdom.clients.git import Place
from kingdom.clients.git_faults import CloneBroken, GitFailed
from kingdom.general.checkouts.private_git import LARGEST_INDEX, is_real_directory
from kingdom.general.checkouts.takeover import Taken
from kingdom.store import disk

_RAW = b"* -text -eol -ident -filter -working-tree-encoding\n"


class Files:
    def __init__(
        self,
        taken: Taken,
        view: str,
        directory: str,
        missed: list[str],
        is_given: Callable[[str, bytes], bool] = lambda _directory, _path: False,
    ) -> None:
        """`missed` gets what git would not take; what `is_given` is no change of the soldier's."""
        self._is_given = is_given
        self._taken = taken
        self._view = view
        self._missed = missed
        self._directory = directory
        self._index = os.path.join(view, "index")
        self._looked_at = ""  # the index that knows what was looked at; ours, if none
        self._real: dict[bytes, bool] = {b"": True}

    def run(self, *words: str, stdin: bytes = b"") -> str:
        return self._out(*words, stdin=stdin).decode("utf-8", "surrogateescape").strip()

    def _out(self, *words: str, stdin: bytes = b"", index: str = "") -> bytes:
        at = Place(
            self._view,
            work_tree=self._directory,
            index=index or self._index,
            objects=self._taken.objects,
        )
        return self._taken.clone.in_view(*words, at=at, stdin=stdin).out

    def read_index(self, path: str, head: str) -> str:
        """Begin with a copy of the soldier's index; answers the tree that is staged in it.

        It knows what was looked at already, so that only what changed is read. One that cannot be
        read is no index: everything is compared with HEAD.
        """
        looked_at = f"{self._index}-seen"
        try:
            for copy in (self._index, looked_at):
                disk.copy(path, copy, LARGEST_INDEX)
            staged = "" if self._listed("--unmerged") else self.write_tree()
        except (OSError, GitFailed, CloneBroken):
            disk.remove(self._index)
            disk.remove(f"{self._index}.lock")
            if head:
                self.run("read-tree", head)
            return ""
        # The one that was written to is younger: by its age git would take files for unchanged
        # that were changed right after the original was written.
        self._looked_at = looked_at
        return staged

    def _listed(self, *words: str) -> list[bytes]:
        out = self._out("ls-files", "-z", *words, index=self._looked_at)
        return [entry for entry in out.split(b"\0") if entry]

    def add_changes(self, *, everything: bool = False) -> list[str]:
        """Into the index; answers the repositories inside, which git would not look into."""
        ignoring = [] if everything else ["--exclude-standard"]
        changed = self._listed("--modified", "--deleted", "--others", *ignoring)
        changed += [entry.partition(b"\t")[2] for entry in self._listed("--unmerged")]
        changed += self._not_looked_at()
        paths = [
            path for path in dict.fromkeys(changed) if not self._is_given(self._directory, path)
        ]
        nested = [os.fsdecode(path.rstrip(b"/")) for path in paths if path.endswith(b"/")]
        self._add([path for path in paths if not path.endswith(b"/")])
        if not everything:
            nested += self._links()
        return list(dict.fromkeys(nested))

    def _not_looked_at(self) -> list[bytes]:
        """Files that are there, and of which the index says that git need not look at them."""
        entries = self._listed("-v")
        flagged = [entry[2:] for entry in entries if entry[:1].islower() or entry[:1] == b"S"]
        return [path for path in flagged if self._is_there(path)]

    def _links(self) -> list[str]:
        """Where the index has another repository's commit, and that repository is there."""
        entries = self._listed("--stage")
        paths = [
            os.fsdecode(entry.partition(b"\t")[2]) for entry in entries if entry[:6] == b"160000"
        ]
        return [path for path in paths if self._is_repository(path)]

    def _is_repository(self, path: str) -> bool:
        whole = os.path.join(self._directory, path)
        return is_real_directory(whole) and disk.exists(os.path.join(whole, ".git"))

    def _add(self, paths: list[bytes]) -> None:
        if not paths:
            return
        # Out first: what is in the index already is not read again if it looks the same.
        self._out("update-index", "-z", "--force-remove", "--stdin", stdin=_terminated(paths))
        there = [path for path in paths if self._is_there(path)]
        words = ("update-index", "-z", "--add", "--replace", "--stdin")
        try:
            self._out(*words, stdin=_terminated(there))
        except (GitFailed, CloneBroken):
            self._add_raw(there)

    def _add_raw(self, paths: list[bytes]) -> None:
        """As they are, whatever the repository says of line ends and encodings; one by one."""
        disk.make_directory(os.path.join(self._view, "info"))
        disk.replace(os.path.join(self._view, "info", "attributes"), _RAW, sync=False)
        disk.remove(f"{self._index}.lock")
        words = ("update-index", "-z", "--add", "--replace", "--stdin")
        for path in paths:
            try:
                self._out(*words, stdin=_terminated([path]))
            except (GitFailed, CloneBroken):
                disk.remove(f"{self._index}.lock")
                self._missed.append(os.fsdecode(path))

    def _is_there(self, path: bytes) -> bool:
        """Not if it is a directory now, or one on the way is a link, where git would not go."""
        whole = os.path.join(os.fsencode(self._directory), path)
        if not os.path.lexists(whole) or not self._is_real(os.path.dirname(path)):
            return False
        is_directory = os.path.isdir(whole) and not os.path.islink(whole)
        return not is_directory or os.path.lexists(os.path.join(whole, b".git"))

    def _is_real(self, directory: bytes) -> bool:
        if directory not in self._real:
            above, _ = os.path.split(directory)
            whole = os.path.join(os.fsencode(self._directory), directory)
            self._real[directory] = self._is_real(above) and not os.path.islink(whole)
        return self._real[directory]

    def write_tree(self) -> str:
        return self.run("write-tree")


def _terminated(paths: list[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
