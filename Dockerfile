FROM python:3.12-slim
ARG PIP_EXTRA_INDEX_URL
COPY pyproject.toml constraints.txt README.md LICENSE /opt/kg2rag/
COPY kg2rag /opt/kg2rag/kg2rag
COPY data/bundled /opt/kg2rag/data/bundled
RUN pip install --no-cache-dir --constraint /opt/kg2rag/constraints.txt "/opt/kg2rag[offline,irds]"
ENV HOME=/work
WORKDIR /work
ENTRYPOINT ["kg2rag"]
CMD ["--help"]
