"""The tools for every MCP client, over stdio or HTTP, on the official SDK.

The SDK takes most of a second to load, which some clients do not wait. Over stdio `handshake` therefore answers the
first request before anything here imports it; nothing that `stdio` needs until then may import it either.
"""
