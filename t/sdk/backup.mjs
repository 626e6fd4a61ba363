/* backup.mjs: tests directories as archives, by the client and by the class above it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const archive = (id) => `/var/backups/${id}.sqsh`;
const data = (id) => `backups/${id}/data.sqsh`;

function create(t, dir, id, options = {}) {
	t.needs("backup.createArchive");
	return t.client.backup.createArchive(dir, archive(id), t.shell, ...t.archiveArguments(options));
}

/* Makes a small tree; returns a function that checks that the tree is there again. */
async function tree(t) {
	await t.says(`mkdir -p ${t.dir}/sub/node_modules && cd ${t.dir} && echo one > a && echo two > sub/b &&
		ln -s ../a sub/link && touch sub/node_modules/x x.log && chmod 751 sub`);
	return async (dir = t.dir) => assert.equal(
		await t.says(`cd ${dir} && cat a sub/b sub/link && stat -c %a sub && find . | wc -l`),
		"one\ntwo\none\n751\n5");
}

const SOME = { excludes: ["node_modules", "*.log"] };

/* Checks that no archive is left in the sandbox. */
const swept = async (t) => assert.equal(await t.says("ls -A /var/backups | grep -v case- || true"), "");

export default {
	async "a directory is archived and restored"(t) {
		const same = await tree(t);
		const made = await create(t, t.dir, t.shell, SOME);
		assert.deepEqual([made.success, made.archivePath], [true, archive(t.shell)]);
		assert.equal(Number(await t.says(`stat -c %s ${archive(t.shell)}`)), made.sizeBytes);
		await t.says("rm sub/b && touch more");
		const back = await t.client.backup.restoreArchive(t.dir, archive(t.shell), t.shell);
		assert.deepEqual([back.success, back.dir], [true, t.dir]);
		await same();
	},

	async "what git ignores is left out"(t) {
		t.needs("backup.createArchive");
		await t.says(`mkdir -p ${t.dir}/out && cd ${t.dir} && git init -q . && echo out > .gitignore && touch a out/b`);
		await create(t, t.dir, t.shell, { gitignore: true, excludes: [".git"] });
		await t.client.backup.restoreArchive(`${t.dir}-2`, archive(t.shell), t.shell);
		assert.equal(await t.says(`ls -A ${t.dir}-2`), ".gitignore\na");
	},

	async "mistakes have their classes"(t) {
		const refused = (code, status, dir) => t.refused(code, status, create(t, dir, t.shell));
		t.needs("backup.createArchive");
		assert.equal((await refused("BACKUP_CREATE_FAILED", 500, t.dir)).dir, t.dir);
		assert.ok((await refused("INVALID_BACKUP_CONFIG", 400, "/etc")).reason);
		const { backup, files } = t.client;
		const error = await t.refused("BACKUP_NOT_FOUND", 404,
			backup.restoreArchive(t.dir, archive("none"), t.shell));
		assert.equal(error.backupId, "none");
		await files.writeFile(archive(t.shell), "no archive", t.shell);
		await t.refused("BACKUP_RESTORE_FAILED", 500,
			backup.restoreArchive(t.dir, archive(t.shell), t.shell));
		assert.equal((await files.exists(t.dir, t.shell)).exists, false);
	},

	async "parts cannot be sent anywhere"(t) {
		t.needs("backup.uploadParts");
		await tree(t);
		const { sizeBytes } = await create(t, t.dir, t.shell);
		const parts = [{ partNumber: 1, url: "https://bucket.example/?secret", offset: 0, size: sizeBytes }];
		const error = await t.refused("NO_ROUTE_OUT", 501, t.client.backup.uploadParts(
			{ archivePath: archive(t.shell), parts, sessionId: t.shell }));
		assert.ok(!JSON.stringify(error.errorResponse).includes("secret"));
	},

	async "createBackup and restoreBackup with a bucket at hand"(t) {
		t.needs("a bucket at hand");
		const same = await tree(t);
		const box = t.sandbox(t.shell);
		const backup = await box.createBackup({ dir: t.dir, name: "mine", localBucket: true, ...SOME });
		assert.deepEqual([backup.dir, backup.localBucket], [t.dir, true]);
		assert.ok((await t.namespace.bucket.head(data(backup.id))).size > 0);
		await swept(t);
		await t.says("cd / && rm -r $OLDPWD");
		assert.deepEqual(await box.restoreBackup(backup), { success: true, dir: t.dir, id: backup.id });
		await same();
		await box.restoreBackup({ ...backup, dir: `${t.dir}-2` });
		await same(`${t.dir}-2`);
		await swept(t);
	},

	async "restoreBackup takes an archive that is here already"(t) {
		t.needs("an archive that is here");
		const same = await tree(t);
		const box = t.sandbox(t.shell);
		const id = randomUUID();
		const { sizeBytes } = await create(t, t.dir, id, SOME);
		await t.namespace.bucket.put(data(id), new Uint8Array(sizeBytes));
		await t.namespace.bucket.put(`backups/${id}/meta.json`, JSON.stringify({ id, dir: t.dir, sizeBytes,
			ttl: 3600, createdAt: new Date().toISOString() }));
		await t.says("rm -r sub && touch more");
		assert.equal((await box.restoreBackup({ id, dir: t.dir })).success, true);
		await same();
		await t.says(`rm ${archive(id)}`);
	},

	async "createBackup that cannot reach its bucket cleans up"(t) {
		t.needs("backup.createArchive");
		await tree(t);
		await t.refused("BACKUP_CREATE_FAILED", 500, t.sandbox(t.shell).createBackup({ dir: t.dir }));
		await swept(t);
	},
};
