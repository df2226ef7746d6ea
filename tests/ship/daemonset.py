"""Reads deploy/kubernetes/daemonset.yaml for the tests: daemonset.py FILE args|capabilities|check|mounts"""
import sys

import yaml

with open(sys.argv[1]) as file:
    documents = list(yaml.safe_load_all(file))
[daemonset] = [d for d in documents if d["kind"] == "DaemonSet"]
pod = daemonset["spec"]["template"]["spec"]
[container] = pod["containers"]
security = container["securityContext"]


def check():
    labels = daemonset["spec"]["template"]["metadata"]["labels"]
    assert daemonset["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert daemonset["metadata"]["namespace"] in [
        d["metadata"]["name"] for d in documents if d["kind"] == "Namespace"]
    assert pod["hostPID"] is True and not pod.get("hostNetwork") and not pod.get("hostIPC")
    assert pod["automountServiceAccountToken"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False and not security.get("privileged")
    assert security["capabilities"]["drop"] == ["ALL"]
    assert set(container["resources"]["limits"]) == {"cpu", "memory"}
    volumes = [volume["name"] for volume in pod["volumes"]]
    assert sorted(volumes) == sorted(mount["name"] for mount in container["volumeMounts"])
    # What is written is below a volume, because nothing else can be written to.
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for argument in container["args"]:
        path = argument.partition("=")[2]
        assert not path.startswith("/") or any(path.startswith(m + "/") for m in mounts), path


if sys.argv[2] == "check":
    check()
elif sys.argv[2] == "args":
    print("\n".join(container["args"]))
elif sys.argv[2] == "capabilities":
    print("\n".join(name.lower() for name in security["capabilities"]["add"]))
elif sys.argv[2] == "mounts":
    print("\n".join(mount["mountPath"] for mount in container["volumeMounts"]))
