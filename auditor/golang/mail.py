"""Mail addresses as Go's net/mail reads them: RFC 5322 with a display name, quoted words, comments, encoded words.

Python's email package accepts nearly everything. The order of attempts matters: first a bare ``a@b``, then ``name
<a@b>``; a group is read, and refused unless it has exactly one address.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from auditor.golang.go_text import quote
from auditor.golang.net import parse_ip

_BLANKS = " \t"
_SPECIALS = frozenset('()<>[]:;@\\,"')
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_Q_TEXT = re.compile(r"(?:[\t\n\r -<>-~]|=[0-9a-fA-F]{2})*")
_Q_ESCAPE = re.compile(r"=([0-9a-fA-F]{2})|_")
_SHORTEST_ENCODED_WORD = 8


class MailError(ValueError):
    """A text that is not a mail address; the message is Go's: ``mail: missing '@' or angle-addr``."""


class _UnknownCharset(Exception):
    """An encoded word is well-formed, in a character set that Go does not know."""


@dataclass(frozen=True, slots=True)
class MailAddress:
    """A parsed text: a display name, usually empty, and the address."""

    name: str
    address: str


def parse_address(text: str) -> MailAddress:
    """Return the one address in a text.

    Raises:
        MailError: There is no address, more than one, or other text.

    Source: net/mail ParseAddress.
    """
    reader = _AddressReader(text)
    address = reader.address(groups=True)
    reader.skip_comments()
    if reader.rest:
        raise MailError(f"mail: expected single address, got {quote(reader.rest)}")
    if len(address) != 1:
        raise MailError("mail: empty group" if not address else "mail: group with multiple addresses")
    return address[0]


class _AddressReader:
    """Reads parts of an address from the front of `rest`."""

    def __init__(self, text: str) -> None:
        self.rest = text

    def skip_blanks(self) -> None:
        self.rest = self.rest.lstrip(_BLANKS)

    def took(self, character: str) -> bool:
        if not self.rest.startswith(character):
            return False
        self.rest = self.rest[1:]
        return True

    def address(self, *, groups: bool) -> list[MailAddress]:
        self.skip_blanks()
        if not self.rest:
            raise MailError("mail: no address")
        start = self.rest
        try:
            spec = self.spec()
        except MailError:
            self.rest = start
        else:
            self.skip_blanks()
            return [MailAddress(self.name_in_comment() if self.took("(") else "", spec)]
        name = "" if start.startswith("<") else self.phrase()
        self.skip_blanks()
        if groups and self.took(":"):
            return self.group()
        if not self.took("<"):
            if all(_is_atom_character(character) for character in name):
                raise MailError("mail: missing '@' or angle-addr")
            raise MailError("mail: no angle-addr")
        spec = self.spec()
        if not self.took(">"):
            raise MailError("mail: unclosed angle-addr")
        return [MailAddress(name, spec)]

    def group(self) -> list[MailAddress]:
        self.skip_blanks()
        if self.took(";"):
            self.skip_comments()
            return []
        addresses: list[MailAddress] = []
        while True:
            self.skip_blanks()
            addresses += self.address(groups=False)
            self.skip_comments()
            if self.took(";"):
                self.skip_comments()
                return addresses
            if not self.took(","):
                raise MailError("mail: expected comma")

    def spec(self) -> str:
        """Read ``local@domain``."""
        self.skip_blanks()
        if not self.rest:
            raise MailError("mail: no addr-spec")
        if self.rest.startswith('"'):
            try:
                local = self.quoted_string()
            except MailError:
                local = ""
            if not local:
                raise MailError("mail: empty quoted string in addr-spec")
        else:
            local = self.dot_atom()
        if not self.took("@"):
            raise MailError("mail: missing @ in addr-spec")
        self.skip_blanks()
        if not self.rest:
            raise MailError("mail: no domain in addr-spec")
        domain = self.domain_literal() if self.rest.startswith("[") else self.dot_atom()
        return f"{local}@{domain}"

    def dot_atom(self) -> str:
        atom = self.atom()
        if atom.startswith("."):
            raise MailError("mail: leading dot in atom")
        if ".." in atom:
            raise MailError("mail: double dot in atom")
        if atom.endswith("."):
            raise MailError("mail: trailing dot in atom")
        return atom

    def atom(self) -> str:
        length = 0
        while length < len(self.rest) and _is_atom_character(self.rest[length]):
            length += 1
        if not length:
            raise MailError("mail: invalid string")
        atom, self.rest = self.rest[:length], self.rest[length:]
        return atom

    def quoted_string(self) -> str:
        """Read a quoted string; of a malformed one, nothing is read."""
        text: list[str] = []
        escaped = False
        for position in range(1, len(self.rest)):
            character = self.rest[position]
            visible = _is_visible(character) or character in _BLANKS
            if escaped or (visible and character not in '"\\'):
                if not visible:
                    raise MailError(f"mail: bad character in quoted-string: {_quoted_rune(character)}")
                text.append(character)
                escaped = False
            elif character == '"':
                self.rest = self.rest[position + 1 :]
                return "".join(text)
            elif character == "\\":
                escaped = True
            else:
                raise MailError(f"mail: bad character in quoted-string: {_quoted_rune(character)}")
        raise MailError("mail: unclosed quoted-string")

    def domain_literal(self) -> str:
        self.rest = self.rest[1:]
        for position, character in enumerate(self.rest):
            if character == "]":
                text, self.rest = self.rest[:position], self.rest[position + 1 :]
                if parse_ip(text) is None:
                    raise MailError(f"mail: invalid IP address in domain-literal: {quote(text)}")
                return f"[{text}]"
            if character in "[\\" or not _is_visible(character):
                raise MailError(f"mail: bad character in domain-literal: {_quoted_rune(character)}")
        raise MailError("mail: unclosed domain-literal")

    def phrase(self) -> str:
        """Read the words of a display name; consecutive encoded words are one word."""
        words: list[str] = []
        encoded = ""
        problem: Exception | None = None
        while True:
            if words:
                self.skip_comments()
            self.skip_blanks()
            if not self.rest:
                break
            decoded = None
            try:
                if self.rest.startswith('"'):
                    word = self.quoted_string()
                else:
                    word = self.atom()
                    decoded = _decode_word(word)
            except (MailError, _UnknownCharset) as error:
                problem = error
                break
            if decoded is not None:
                encoded += decoded
            else:
                words += [encoded, word] if encoded else [word]
                encoded = ""
        if encoded:
            words.append(encoded)
        if problem is not None and not words:
            raise MailError(f"mail: missing word in phrase: {problem}")
        return " ".join(words)

    def name_in_comment(self) -> str:
        words = [word for word in re.split("[ \t]", self.comment()) if word]
        try:
            decoded = [_decode_word(word) for word in words]
        except _UnknownCharset as error:
            raise MailError(str(error)) from None
        return " ".join([word if text is None else text for word, text in zip(words, decoded, strict=True)])

    def skip_comments(self) -> None:
        self.skip_blanks()
        while self.took("("):
            self.comment()
            self.skip_blanks()

    def comment(self) -> str:
        """Read a comment after its opening parenthesis; comments nest."""
        depth = 1
        text: list[str] = []
        position = 0
        while position < len(self.rest) and depth:
            character = self.rest[position]
            if character == "\\" and position + 1 < len(self.rest):
                position += 1
                character = self.rest[position]
            elif character == "(":
                depth += 1
            elif character == ")":
                depth -= 1
            if depth:
                text.append(character)
            position += 1
        self.rest = self.rest[position:]
        if depth:
            raise MailError("mail: misformatted parenthetical comment")
        return "".join(text)


def _is_visible(character: str) -> bool:
    return "!" <= character <= "~" or character >= "\x80"


def _is_atom_character(character: str) -> bool:
    return character not in _SPECIALS and _is_visible(character)


def _quoted_rune(character: str) -> str:
    if character == "'":
        return "'\\''"
    return "'\"'" if character == '"' else f"'{quote(character)[1:-1]}'"


def _decode_word(word: str) -> str | None:
    """Return the text of an encoded word such as ``=?utf-8?q?J=C3=B6rg?=``, or None if it is not one.

    Raises:
        _UnknownCharset: It has a character set that Go does not know.

    Source: mime.WordDecoder.Decode.
    """
    parts = word.split("?")
    if len(parts) != 5 or parts[0] != "=" or parts[4] != "=" or len(word.encode()) < _SHORTEST_ENCODED_WORD:
        return None
    charset, encoding, text = parts[1], parts[2], parts[3]
    if not charset or len(encoding.encode()) != 1:
        return None
    if encoding in "bB" and _BASE64.fullmatch(text):
        content = base64.b64decode(text)
    elif encoding in "qQ" and _Q_TEXT.fullmatch(text):
        content = _Q_ESCAPE.sub(_q_unescape, text).encode("latin-1")
    else:
        return None
    # Go ignores case when it compares; in Unicode these two letters then equal s and k.
    name = charset.replace("\u017f", "s").replace("\u212a", "k")
    name = name.lower() if name.isascii() else ""
    if name == "utf-8":
        return content.decode("utf-8", "surrogateescape")
    if name == "iso-8859-1":
        return content.decode("latin-1")
    if name == "us-ascii":
        return "".join([chr(byte) if byte < 0x80 else "\ufffd" for byte in content])
    raise _UnknownCharset(f"charset not supported: {quote(charset.lower())}")


def _q_unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else " "
