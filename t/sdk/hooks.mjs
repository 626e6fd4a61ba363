/* hooks.mjs: resolves the SDK's two platform imports to platform.mjs. */
const PLATFORM = new URL("platform.mjs", import.meta.url).href;
const STANDS_IN = new Set(["cloudflare:workers", "@cloudflare/containers"]);

export function resolve(specifier, context, next) {
	if (STANDS_IN.has(specifier))
		return { url: PLATFORM, shortCircuit: true };
	return next(specifier, context);
}
