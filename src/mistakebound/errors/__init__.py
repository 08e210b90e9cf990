"""Exceptions with fields: the file, line, column and round, and the feature, value or option that is wrong.

A message may name an option. ``str`` writes it as an argument in Python; the command line writes it as a flag.
"""

from mistakebound.errors.file_errors import CertificateError, ModelError, ResumeError, add_file_name
from mistakebound.errors.input_errors import (
    CellError,
    InputError,
    OptionConflictError,
    OptionError,
    StreamError,
    TicketError,
    as_stream_error,
)
from mistakebound.errors.message import (
    BY_HEADER,
    Expert,
    MessagePart,
    Option,
    OutcomeClass,
    closest,
    location,
    message_text,
    setting,
)
from mistakebound.errors.missing_columns import MOST_IGNORED, MOST_LISTED, MissingColumnsError

__all__ = [
    "BY_HEADER",
    "MOST_IGNORED",
    "MOST_LISTED",
    "CellError",
    "CertificateError",
    "Expert",
    "InputError",
    "MessagePart",
    "MissingColumnsError",
    "ModelError",
    "Option",
    "OptionConflictError",
    "OptionError",
    "OutcomeClass",
    "ResumeError",
    "StreamError",
    "TicketError",
    "add_file_name",
    "as_stream_error",
    "closest",
    "location",
    "message_text",
    "setting",
]
