/*
 * versions.mjs: the differences between the published versions of the SDK.  All
 * other behaviour is asked of all versions alike.
 */

/*
 * keyed: takes headers; the others send through a `stub` that adds the key.
 * executeArguments: what follows command and shell in commands.execute().
 * lacks: what a version does not have yet, or no more.  Names with a dot are
 *     methods of a client and are looked up, so that no row outlives its truth;
 *     the others are things that its methods do not send.
 * archiveArguments: what follows directory, archive and shell in
 *     backup.createArchive().
 * repeats: sends a command again whose time was over, by a mistake of its own:
 *     any 500 with the word "timeout" is a start-up problem to it.
 */
const positional = (o) => [o.timeoutMs];
const byName = (o) => [o];
const watching = ["watch.watch", "watch.checkChanges"];
const backups = ["backup.createArchive", "backup.uploadParts", "a bucket at hand",
	"an archive that is here"];

export const VERSIONS = {
	"0.4.14": { keyed: false, executeArguments: positional,
		lacks: ["utils.deleteSession", "ports.watchPort", "env of a call", "depth", "waiting",
			"limits of a shell", "time for git", "no shell", "websocket", ...watching,
			...backups] },
	"0.5.6": { keyed: false, executeArguments: byName, repeats: true,
		lacks: ["ports.watchPort", "depth", "waiting", "limits of a shell", "time for git",
			"no shell", "websocket", ...watching, ...backups] },
	"0.6.11": { keyed: false, executeArguments: byName,
		lacks: ["limits of a shell", "time for git", "no shell", ...watching, ...backups] },
	"0.7.21": { keyed: true, executeArguments: byName,
		archiveArguments: (o) => [o.gitignore, o.excludes],
		lacks: ["time for git", "no shell", "watch.checkChanges", "backup.uploadParts",
			"a bucket at hand"] },
	"0.9.2": { keyed: true, executeArguments: byName, archiveArguments: byName,
		lacks: ["no shell", "backup.uploadParts", "an archive that is here"] }, /* this version mounts its bucket */
	"0.12.10": { keyed: true, executeArguments: byName, archiveArguments: byName,
		lacks: ["ports.exposePort", "ports.getExposedPorts", "ports.unexposePort"] },
};

/*
 * Why each entry of `lacks` is not judged in some versions.  The judge wants
 * exactly one sentence for each entry.
 */
export const WHY = {
	"utils.deleteSession": "0.4.14 cannot delete a shell",
	"ports.exposePort": "0.12.10 makes preview URLs by itself and asks no container for it",
	"ports.getExposedPorts": "likewise",
	"ports.unexposePort": "likewise",
	"ports.watchPort": "came with 0.6.11",
	"env of a call": "0.4.14 has variables of a shell only",
	"depth": "older versions clone whole repositories",
	"waiting": "older versions wait for no port or log line",
	"limits of a shell": "commandTimeoutMs of a shell came with 0.7.21",
	"time for git": "a time limit for a clone came with 0.9.2",
	"no shell": "a command outside of any shell came with 0.12.10",
	"websocket": "the transport came with 0.6.11",
	"watch.watch": "watching came with 0.7.21",
	"watch.checkChanges": "came with 0.9.2",
	"backup.createArchive": "backups came with 0.7.21",
	"backup.uploadParts": "came with 0.12.10",
	"a bucket at hand": "backups without R2 came with 0.9.2",
	"an archive that is here": "before 0.7.21 there are no backups; 0.9.2 mounts its bucket by FUSE",
};

/*
 * Members of a SandboxClient that no scenario uses, and why the service does
 * not have the feature.
 */
export const UNDRIVEN = {
	desktop: "0.7.21 and 0.9.2 drive a desktop with X11 in an image of its own; the SDK dropped it",
	tunnels: "0.12.10 has these over its transport rpc only, which the service does not speak",
};

/* Error codes, the SDK's class for each, and the first version with that class. */
const ERRORS = {
	BACKUP_CREATE_FAILED: ["BackupCreateError", "0.7.21"],
	BACKUP_NOT_FOUND: ["BackupNotFoundError", "0.7.21"],
	BACKUP_RESTORE_FAILED: ["BackupRestoreError", "0.7.21"],
	COMMAND_EXECUTION_ERROR: ["CommandError"],
	COMMAND_NOT_FOUND: ["CommandNotFoundError"],
	CONTEXT_NOT_FOUND: ["ContextNotFoundError"],
	FILESYSTEM_ERROR: ["FileSystemError"],
	FILE_NOT_FOUND: ["FileNotFoundError"],
	FILE_TOO_LARGE: ["FileTooLargeError", "0.7.21"],
	GIT_AUTH_FAILED: ["GitAuthenticationError"],
	GIT_BRANCH_NOT_FOUND: ["GitBranchNotFoundError"],
	GIT_CLONE_FAILED: ["GitCloneError"],
	GIT_NETWORK_ERROR: ["GitNetworkError"],
	GIT_OPERATION_FAILED: ["GitError"],
	GIT_REPOSITORY_NOT_FOUND: ["GitRepositoryNotFoundError"],
	INTERNAL_ERROR: ["SandboxError"],
	INVALID_BACKUP_CONFIG: ["InvalidBackupConfigError", "0.7.21"],
	INVALID_COMMAND: ["CommandError"],
	INVALID_GIT_URL: ["InvalidGitUrlError"],
	INVALID_PORT: ["InvalidPortError"],
	INVALID_PORT_NUMBER: ["InvalidPortError"],
	IS_DIRECTORY: ["FileSystemError"],
	JAVASCRIPT_NOT_AVAILABLE: ["SandboxError"],
	NAME_TOO_LONG: ["FileSystemError"],
	NOT_DIRECTORY: ["FileSystemError"],
	NO_ROUTE_OUT: ["SandboxError"],
	PERMISSION_DENIED: ["PermissionDeniedError"],
	PORT_ALREADY_EXPOSED: ["PortAlreadyExposedError"],
	PORT_NOT_EXPOSED: ["PortNotExposedError"],
	PROCESS_NOT_FOUND: ["ProcessNotFoundError"],
	PYTHON_NOT_AVAILABLE: ["SandboxError"],
	READ_ONLY: ["FileSystemError"],
	SESSION_ALREADY_EXISTS: ["SessionAlreadyExistsError", "0.6.11"],
	SESSION_DESTROYED: ["SessionDestroyedError", "0.7.21"],
	SESSION_NOT_FOUND: ["SandboxError"],
	SESSION_TERMINATED: ["SessionTerminatedError", "0.9.2"],
	TOO_MANY_LINKS: ["FileSystemError"],
	UNAUTHORIZED: ["SandboxError"],
	UNKNOWN_ERROR: ["SandboxError"],
	VALIDATION_FAILED: ["ValidationFailedError"],
};

const ORDER = Object.keys(VERSIONS);

/* Returns the `err.name` for a code; before its class existed, that is the base class. */
export function errorName(version, code) {
	const [name, since = ORDER[0]] = ERRORS[code];
	return ORDER.indexOf(version) < ORDER.indexOf(since) ? "SandboxError" : name;
}
