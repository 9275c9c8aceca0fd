#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py OUT PACKAGE...: what is in Debian packages, wheels and source archives, as one SPDX 2.3 document in JSON: their files
with checksums, and what others wrote in them, with versions and licences. sbom.py --check: packaging/components.json and
NOTICE name the same packages.

The same packages give the same document: its date is SOURCE_DATE_EPOCH, or else the time of the last commit.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import urllib.parse
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COMPONENTS = json.loads((ROOT / "packaging/components.json").read_text("utf-8"))
CREATOR = "Organization: The AnyDML contributors"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def date():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "-C", str(ROOT), "log", "-1", "--format=%ct"))


def stem(package):
    """Debian's name of a library without the number of its interface: libpng16-16 and libpng-dev are libpng."""
    name = package.removesuffix("-dev")
    return next((known for known in (package, name) if known in COMPONENTS), re.sub(r"[-0-9]*(t64)?$", "", name))


def identifier(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(parts)).strip("-")


def sums(data):
    return [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]


class Document:
    """An SPDX document that grows."""

    def __init__(self, name):
        self.name, self.packages, self.files, self.relationships = name, {}, [], []
        self.needed = []  # (identifier, name of one of our packages, its version), which may follow later

    def relate(self, one, kind, other, comment=None):
        row = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        self.relationships.append(row | ({"comment": comment} if comment else {}))

    def add_package(self, name, version, licence, **more):
        key = identifier("Package", name, version)
        self.packages[key] = {"SPDXID": key, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
                              "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
                              "copyrightText": "NOASSERTION", **more}
        return key

    def add_debian(self, package):
        """An installed Debian package: (identifier, its row of components.json)."""
        version, source = output("dpkg-query", "-W", "-f", "${Version} ${source:Package}@${source:Version}\n",
                                 package).splitlines()[0].split(" ")
        row = COMPONENTS[stem(package)]
        purl = f"pkg:deb/debian/{urllib.parse.quote(package)}@{urllib.parse.quote(version)}"
        return self.add_package(
            package, version, row["licence"], summary=row["name"], supplier="Organization: Debian",
            sourceInfo=f"Debian's source package {source.replace('@', ' ')}",
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]), row

    def add_compiled(self, owner, with_provider):
        """Third-party code that was compiled in."""
        for package, row in COMPONENTS.items():
            if isinstance(row, dict) and row.get("use") == "compiled":
                self.relate(owner, "STATIC_LINK", self.add_debian(package)[0], "headers, and identifiers for linking")
        if with_provider:
            about = (ROOT / "third_party/onnxruntime/README.md").read_text("utf-8")
            version = re.search(r"ONNX Runtime ([0-9.]+)", about)[1]
            key = self.add_package("onnxruntime-c-headers", version, "MIT", summary="ONNX Runtime's C headers",
                                   supplier="Organization: Microsoft Corporation")
            self.relate(owner, "STATIC_LINK", key, "headers")

    def add_ours(self, name, version, files, **more):
        """One of our packages with its files, {path: bytes}; the contents of those in `excluded` are not known yet."""
        excluded = more.pop("excluded", [])
        key = self.add_package(name, version, "Apache-2.0", supplier=CREATOR, primaryPackagePurpose="LIBRARY", **more)
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", key)
        codes = []
        for path in sorted(files):
            file = {"SPDXID": identifier("File", name, hashlib.sha256(path.encode()).hexdigest()[:16]),
                    "fileName": "./" + path, "checksums": sums(files[path]), "licenseConcluded": "NOASSERTION",
                    "copyrightText": "NOASSERTION"}
            codes.append(file["checksums"][0]["checksumValue"])
            self.files.append(file)
            self.relate(key, "CONTAINS", file["SPDXID"])
        code = {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(codes)).encode()).hexdigest()}
        if excluded:
            code["packageVerificationCodeExcludedFiles"] = ["./" + path for path in excluded]
        self.packages[key] |= {"filesAnalyzed": True, "packageVerificationCode": code}
        return key

    def text(self):
        for owner, name, version in self.needed:
            if identifier("Package", name, version) in self.packages:
                self.relate(owner, "DEPENDS_ON", identifier("Package", name, version))
        body = {"packages": list(self.packages.values()), "files": self.files, "relationships": self.relationships}
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        head = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": self.name,
                "documentNamespace": f"https://spdx.org/spdxdocs/{self.name}-{digest}",
                "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date())),
                                 "creators": [CREATOR, "Tool: scripts/package/sbom.py"]}}
        return json.dumps(head | body, indent=1) + "\n"


# ---- the kinds of packages

def add_wheel(document, files, excluded=(), **more):
    """A wheel's files."""
    metadata = next(data for path, data in files.items() if path.endswith(".dist-info/METADATA")).decode()
    name, version = (re.search(rf"^{field}: (.*)$", metadata, re.MULTILINE)[1] for field in ("Name", "Version"))
    owner = document.add_ours(name, version, files, excluded=excluded, **more)
    document.add_compiled(owner, any("libonnxruntime_" in path for path in files))
    if "anydml/anydml" in files: # the command, as scripts/package/make-wheel links it
        for library in ("libpng-dev", "libjpeg62-turbo-dev", "libjansson-dev", "zlib1g-dev"):
            document.relate(owner, "STATIC_LINK", document.add_debian(library)[0])


def tar_files(archive):
    return {member.name.removeprefix("./"): archive.extractfile(member).read() for member in archive if member.isfile()}


def add_deb(document, path, **more):
    fields = dict(re.findall(r"^(\S+): (.*)$", output("dpkg-deb", "-f", str(path)), re.MULTILINE))
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            files = tar_files(archive)
    owner = document.add_ours(fields["Package"], fields["Version"], files, **more)
    if any(".so" in name or name.startswith("usr/bin/") for name in files):
        document.add_compiled(owner, "onnxruntime" in fields["Package"])
    for name in re.findall(r"(?:^|, )([a-z0-9.+-]+)", fields.get("Depends", "")):
        document.needed.append((owner, name, fields["Version"]))
        if stem(name) in COMPONENTS:
            document.relate(owner, "DYNAMIC_LINK" if name.startswith("lib") else "DEPENDS_ON", document.add_debian(name)[0])


def add_source(document, path, **more):
    """Without its files, which are the repository's; NOTICE names the third-party ones."""
    version = re.search(r"([0-9][0-9.]*)\.(orig\.)?tar", path.name)[1]
    key = document.add_package("anydml-source", version, "Apache-2.0", supplier=CREATOR, primaryPackagePurpose="SOURCE", **more)
    document.packages[key]["licenseConcluded"] = "Apache-2.0 AND MIT AND CC-BY-4.0"
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", key)


def add(document, path):
    data = path.read_bytes()
    more = {"packageFileName": path.name, "checksums": sums(data)}
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            add_wheel(document, {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}, **more)
    elif path.suffix == ".deb":
        add_deb(document, path, **more)
    else:
        add_source(document, path, **more)


def check():
    """NOTICE names each package with a licence in components.json, except for those that every Linux has."""
    notice = (ROOT / "NOTICE").read_text("utf-8")
    missing = [name for name, row in COMPONENTS.items() if isinstance(row, dict) and row.get("use") != "system"
               and not re.search(rf"\b{re.escape(name)}", notice)]
    sys.exit(f"NOTICE lacks {missing} of packaging/components.json" if missing else 0)


def main():
    if sys.argv[1:] == ["--check"]:
        check()
    out, *paths = map(Path, sys.argv[1:])
    document = Document(out.name.removesuffix(".spdx.json"))
    for path in sorted(paths):
        add(document, path)
    out.write_text(document.text(), "utf-8")


if __name__ == "__main__":
    main()
