# Installs what the lock names, without the tools of development; the second stage takes only the result.
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml requirements.lock ./
RUN python -m venv /opt/tools && python -m venv --without-pip /opt/venv \
    && awk '/^uv==/ { copy = 1 } copy { print } copy && !/\\$/ { exit }' requirements.lock > uv.lock \
    && /opt/tools/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r uv.lock
# The lock as constraints: of the project's own requirements only those, at its versions, with its hashes.
RUN /opt/tools/bin/uv pip install --no-cache --python /opt/venv/bin/python --link-mode copy \
        --require-hashes --only-binary :all: --compile-bytecode -r pyproject.toml -c requirements.lock


FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --home-dir /app --shell /usr/sbin/nologin jobs \
    && install --directory --owner jobs --group jobs /app /app/var
# PYTHONTZPATH is empty on purpose: zone rules come from the pinned tzdata package alone.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONTZPATH= \
    DATA_DIR=/app/var
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY . .
USER jobs

EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["python", "deploy/web_healthy.py"]
CMD ["uvicorn", "jobsplatform.asgi:application", "--host", "0.0.0.0", "--port", "8000"]
