# One static binary on an empty image. Build the binaries first (see docker-compose.temporal.yml); no base image is needed.
FROM scratch
ARG COMMAND
COPY bin/${COMMAND} /app
# SQLite and Go's os.TempDir need a place to write; the volume is mounted over it.
WORKDIR /data
ENV TMPDIR=/data
ENTRYPOINT ["/app"]
