"""The tools for every MCP client, over stdio or HTTP, on the official SDK.

The SDK takes most of a second to load, which some clients do not wait. Over stdio `handshake` therefore answers the
first requests before anything here imports it, and is the only module here that does not.
"""
