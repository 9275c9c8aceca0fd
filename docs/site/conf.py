# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site of `make docs` from the Markdown files, which stay what GitHub and an editor show: what they do
not say, the hierarchy of pages, is added here."""
import pathlib
import re

PARTS = {
    "Use": ["command", "devices", "environment", "first-program", "graph-builder", "directmlx", "dispatch", "operators/README", "extensions", "vulkan-interop", "interleave",
            "onnxruntime", "programs", "pytorch", "pytorch-operators", "pydirectml", "microsoft-packages", "wine", "packages",
            "telemetry"],
    "Evidence": ["performance/README", "reliability", "conformance", "conformance-gpu", "conformance-onnx", "conformance-torch"],
    "Inside": ["architecture", "glossary", "internals/README", "decisions/README", "adding-an-operator", "adding-a-kernel",
               "adding-a-shader", "adding-an-adapter"],
}
# Front pages of folders, and the pages below each.
FOLDERS = {
    "docs/operators/README": ["*"],
    "docs/performance/README": ["*", "archive/README"],
    "docs/performance/archive/README": ["*"],
    "docs/internals/README": ["*"],
    "docs/decisions/README": ["*"],
}

project = "AnyDML"
author = "The AnyDML contributors"
html_title = "AnyDML"
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = ["*.md", "docs/**.md", "samples/README.md", "samples/data/LICENSES.md"]
exclude_patterns = ["build*", "out", ".*", "src", "tests", "third_party", "bindings", "packaging"]
myst_heading_anchors = 4
html_theme = "furo"
smartquotes = False  # options begin with --
html_copy_source = False
html_show_copyright = False


def toctree(pages, options):
    return "\n".join(["", "```{toctree}", ":hidden:", *options, "", *pages, "```", ""])


def add_order(app, docname, source):
    """Hidden tables of contents behind the front page and the front pages of folders."""
    if docname == root_doc:
        for part, pages in PARTS.items():
            source[0] += toctree([f"docs/{page}" for page in pages], [f":caption: {part}"])
        source[0] += toctree(["CHANGELOG", "CONTRIBUTING", "SECURITY", "samples/README", "samples/data/LICENSES"],
                             [":caption: The project"])
    elif docname in FOLDERS:
        source[0] += toctree(FOLDERS[docname], [":glob:"])
    here = pathlib.Path(app.srcdir, docname).parent
    source[0] = re.sub(r"\[([^][]+)\]\(([^():#]+)\)", lambda link: folder_link(app, here, link), source[0])


def folder_link(app, here, link):
    """A folder's page is its README; a folder without a page, which only the repository shows, is named without a link."""
    text, target = link.groups()
    if not (here / target).is_dir():
        return link[0]
    readme = (here / target / "README.md").resolve().relative_to(pathlib.Path(app.srcdir).resolve())
    return f"[{text}]({target.rstrip('/')}/README.md)" if str(readme.with_suffix("")) in app.env.found_docs else text


def setup(app):
    app.connect("source-read", add_order)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
