"""Writes to and reads from an S3 of another make: moto's server, which checks signatures.

    python tests/objects/s3_round_trip.py target/release/godwit

A user is made who may do everything, and then nobody else gets anything: requests are signed as S3 wants them, or refused.
"""

import logging
import os
import subprocess
import sys
import tempfile

# The calls that make the user and the bucket. The server looks when it is imported.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3  # noqa: E402
from botocore.config import Config  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

ROWS = 400_000
BUCKET = "a-bucket"
POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'


def main() -> int:
    program = sys.argv[1]
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    key, secret = make_user_and_bucket(endpoint)
    settings = f"SET s3_endpoint = '{endpoint}'; SET s3_access_key_id = '{key}'; "
    right, wrong = (settings + f"SET s3_secret_access_key = '{text}'; " for text in (secret, "wrong"))

    rows = f"SELECT i, 'row ' || i AS h FROM range({ROWS}) t(i)"
    for ending in ("parquet", "csv", "json", "arrow"):
        url = f"s3://{BUCKET}/folder/of-{ending}/ä +x.{ending}"
        run(program, right + f"COPY ({rows}) TO '{url}'")
        expect(run(program, right + f"SELECT count(*), max(i) FROM '{url}'"), f"{ROWS},{ROWS - 1}")
        print(f"{ending}: written and read")
    expect(run(program, right + f"SELECT count(*) FROM 's3://{BUCKET}/folder/*/*.parquet'"), str(ROWS))
    print("patterns: found")
    expect(complaint(program, wrong + f"FROM 's3://{BUCKET}/folder/of-csv/ä +x.csv'"), "403")
    expect(complaint(program, right + f"FROM 's3://{BUCKET}/nothing.parquet'"), "there is no file")
    print("wrong secret: refused")

    # The last row divides by zero, when parts are on their way.
    wide = f"SELECT repeat((100000007 // (i - {ROWS - 1}))::VARCHAR, 10) FROM range({ROWS}) t(i)"
    failing = f"COPY ({wide}) TO 's3://{BUCKET}/failed.csv'"
    complaint(program, right + failing)
    client = client_of("s3", endpoint, key, secret)
    left = client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
    names = [found["Key"] for found in client.list_objects_v2(Bucket=BUCKET)["Contents"]]
    if left or "failed.csv" in names:
        raise SystemExit(f"a failed COPY left something: {left}, {names}")
    print("failed COPY: nothing left")
    environment = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    environment |= {"AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
    sql = f"SELECT count(*) FROM 's3://{BUCKET}/folder/of-parquet/ä +x.parquet'"
    expect(run(program, sql, environment), str(ROWS))
    print("credentials of the environment: read")
    server.stop()
    print("S3 by moto: formats, patterns, signatures, uploads")
    return 0


def make_user_and_bucket(endpoint: str) -> tuple[str, str]:
    users = client_of("iam", endpoint, "nobody", "nothing")
    users.create_user(UserName="tester")
    made = users.create_access_key(UserName="tester")["AccessKey"]
    users.put_user_policy(UserName="tester", PolicyName="all", PolicyDocument=POLICY)
    client_of("s3", endpoint, "nobody", "nothing").create_bucket(Bucket=BUCKET)
    return made["AccessKeyId"], made["SecretAccessKey"]


def client_of(service: str, endpoint: str, key: str, secret: str):
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(s3={"addressing_style": "path"}),
    )


def shell(program: str, sql: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    command = [program, "--format", "csv", "-c", sql]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, env=clean | (environment or {}), capture_output=True, text=True)


def run(program: str, sql: str, environment: dict[str, str] | None = None) -> str:
    done = shell(program, sql, environment)
    if done.returncode != 0:
        raise SystemExit(f"{sql}\n{done.stderr}")
    return done.stdout


def complaint(program: str, sql: str) -> str:
    done = shell(program, sql)
    if done.returncode == 0:
        raise SystemExit(f"no error: {sql}\n{done.stdout}")
    return done.stderr


def expect(text: str, part: str) -> None:
    if part not in text:
        raise SystemExit(f"expected {part!r} in {text!r}")


if __name__ == "__main__":
    sys.exit(main())
