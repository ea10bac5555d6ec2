"""Real PostgreSQL and Valkey servers for tests and development, without installing any server.

    server = start_postgres()      # about a second; server.url, .stop(), .kill(), .restart()
    broker = start_redis()         # a tenth of a second

A server lives at most as long as the process that started it, however that process ends.
"""

from tests.services.postgres import PostgresServer, start_postgres
from tests.services.redis import RedisServer, start_redis
from tests.services.server import ServerError

__all__ = ["PostgresServer", "RedisServer", "ServerError", "start_postgres", "start_redis"]
