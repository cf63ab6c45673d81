# docker build -t parley . && docker run -p 7860:7860 parley        the demo, at http://localhost:7860
# docker run -p 7860:7860 -v parley:/data parley parley serve ...    a study; the database stays in the volume
# docker run --read-only --tmpfs /tmp ...                            works as well: only /data is written to
# compose.yaml starts all of a deployment with PostgreSQL: two of these, the console, nginx.

FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /opt/parley
COPY requirements.lock ./
RUN sed '/^# dev:/,$d' requirements.lock > run.lock
RUN /opt/parley/bin/pip install --no-cache-dir --require-hashes --no-deps -r run.lock
COPY pyproject.toml LICENSE ./
COPY app app
COPY experiments experiments
COPY storage storage
COPY problems problems
RUN /opt/parley/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
# What llama.cpp needs, for the model on this computer with which the demo talks.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home parley && install -d -o parley -g parley -m 700 /data
COPY --from=build /opt/parley /opt/parley
ENV PATH=/opt/parley/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp \
    PARLEY_HOST=0.0.0.0 PARLEY_PORT=7860 PARLEY_DATABASE_URL=sqlite:////data/parley.db
USER parley
WORKDIR /data
VOLUME /data
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7860/healthz/ready', timeout=4)"]
CMD ["parley", "demo"]
