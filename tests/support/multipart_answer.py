"""Answers of a server to requests for several ranges."""


def multipart(data: bytes, ranges, boundary: str = "a boundary", size: int | None = None) -> tuple[str, bytes]:
    """The type and the body of an answer with several ranges."""
    parts = [f"\r\n--{boundary}\r\nContent-Type: a/b\r\nContent-Range: bytes {first}-{last}/{size or len(data)}\r\n\r\n".encode() +
             data[first:last + 1] for first, last in ranges]
    return f'multipart/byteranges; boundary="{boundary}"', b"".join(parts) + f"\r\n--{boundary}--\r\n".encode()
