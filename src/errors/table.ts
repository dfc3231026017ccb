import { RPC } from '../protocol/rpc-error.ts'

/** One error: message, hint, and its codes in other protocols. */
export interface ErrorEntry {
  /** `{name}` is filled from the fields. States the problem and its location. */
  readonly text: string
  /** Hint on how to fix it. */
  readonly hint: string
  /** Process exit code, as in EXIT_CODES; default: by the HTTP status. */
  readonly exit?: number
  /** HTTP status if it is the whole answer. */
  readonly http?: number
  /** JSON-RPC code when it answers a request. */
  readonly rpc?: number
  /** State of the upstream whose requests it ends; default `failed`. */
  readonly state?: 'needs_auth'
  /** True if the fault is not the server's: it is passed on unchanged, and circuit breakers ignore it. */
  readonly isLocal?: true
}

/** Exit codes of commands, each with one meaning. */
export const EXIT_CODES: Readonly<Record<number, string>> = {
  0: 'success',
  1: 'unexpected error, such as a bug',
  2: 'wrong usage',
  3: 'invalid configuration',
  4: 'not available: a server, the gateway, an address or a file',
  5: 'not found: a tool, server, caller, profile, verb, agent or request',
  6: 'findings or differences, or refused by a rule',
  7: 'login needed or failed',
  8: 'the tool, or its server, returned an error',
  9: 'declined, interrupted at a prompt, or incomplete',
  10: 'temporary failure: retry later',
  130: 'interrupted (Ctrl-C)',
  143: 'terminated (SIGTERM)',
}

/** Exit code if a person declined, or only a part was done. */
export const INCOMPLETE_EXIT_CODE = 9
/** Exit code for findings and differences. */
export const FINDINGS_EXIT_CODE = 6

/** Exit codes of errors without one, by HTTP status. */
const HTTP_EXIT_CODES: Readonly<Record<number, number>> = {
  400: 2,
  401: 7,
  403: 6,
  404: 5,
  409: 6,
  413: 6,
  429: 10,
  502: 4,
  503: 10,
  504: 10,
}

/** Returns an error's process exit code. */
export function getExitCode({ exit, http }: Pick<ErrorEntry, 'exit' | 'http'>): number {
  return exit ?? HTTP_EXIT_CODES[http ?? 0] ?? 1
}

/** Every error of the gateway itself; plugins have tables of their own. A test ties this table to docs/reference/errors.md. */
export const ERRORS = {
  GW_INTERNAL: {
    text: 'internal error',
    hint: 'This is a bug in the gateway; the log has the details under the same code.',
    exit: 1,
    http: 500,
    rpc: RPC.internal,
  },
  GW_USAGE: { text: '{what}', hint: 'Run the command with --help.', exit: 2 },
  GW_INTERRUPTED: {
    text: 'interrupted at a prompt, nothing was changed',
    hint: 'Run the command again; flags can answer its prompts.',
    exit: 9,
  },
  GW_TOOL_UNKNOWN: {
    text: 'no tool "{tool}"{meant}',
    hint: 'gateway tools lists all tools.',
    exit: 5,
  },
  GW_TOOL_HIDDEN: {
    text: '{by} refuses "{tool}" for {caller}: {why}',
    hint: '{command} shows each step.',
    exit: 6,
  },
  GW_IMPORT: {
    text: 'cannot import {file}: {why}',
    hint: 'Specify a client configuration with MCP servers, such as .mcp.json.',
    exit: 2,
  },
  GW_INIT: {
    text: 'cannot write {file}: {why}',
    hint: 'Check its directory, or specify another file with --output.',
    exit: 4,
  },
  GW_REGISTRY_UNKNOWN: {
    text: 'no registry configured; add these two lines to gateway.yaml:\nregistry:\n  url: https://<address>',
    hint: 'See https://modelcontextprotocol.io/registry for the address. --registry sets it for one command.',
    exit: 2,
  },
  GW_REGISTRY: {
    text: 'registry {registry} failed: {why}',
    hint: 'Check its URL, or the saved file.',
    exit: 4,
  },
  GW_ADD_REFUSED: {
    text: '{server} cannot be added: {why}',
    hint: 'If you trust it, add it to gateway.yaml by hand.',
    exit: 6,
  },
  GW_ADD_TRIAL: {
    text: '{upstream} does not start, so it was not added: {why}',
    hint: 'Provide what is missing: {help}. Or add it untested with --no-start.',
    exit: 4,
  },
  GW_FILE_EXISTS: {
    text: '{file} already exists',
    hint: 'Choose another name, or overwrite it with --force.',
    exit: 2,
  },
  GW_REFUSED: {
    text: 'refused: {why} (JSON-RPC error {code})',
    hint: 'gateway tools --json shows the schema of the arguments; a rule in the configuration may also refuse the call.',
    exit: 8,
  },
  GW_FETCH_REFUSED: {
    text: 'request to {url} refused: {why}',
    hint: 'URLs supplied by servers must use https and be public, unless the server itself is private. To allow a host in your own network, add it to "network.private"; the log shows its address.',
    exit: 6,
    rpc: RPC.internal,
  },
  GW_FETCH_FAILED: {
    text: 'request to {url} failed: {why}',
    hint: 'Check that this machine can reach it, through HTTPS_PROXY if it is set.',
    exit: 4,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_UNKNOWN: {
    text: 'no upstream "{upstream}"{meant}',
    hint: 'gateway ps lists the upstreams of the running gateway.',
    exit: 5,
    rpc: RPC.invalidParams,
  },
  GW_PROFILE_UNKNOWN: {
    text: 'no profile "{profile}"{meant}',
    hint: 'Declare it under profiles.<name>; a profile with `principals` is only available to those callers.',
    http: 404,
    rpc: RPC.invalidParams,
  },
  GW_VERB_UNKNOWN: {
    text: 'unknown verb "{verb}"; known: {known}',
    hint: 'Plugin verbs exist only if the configuration installs the plugin.',
    exit: 5,
    rpc: RPC.methodNotFound,
  },
  GW_NOT_CONFIGURED: {
    text: '"{keys}" is not configured on this gateway',
    hint: 'Add it to gateway.yaml, for example "{keys}: {}" (gateway help config {keys}), and run gateway reload.',
    exit: 3,
  },
  GW_VERB_PARAMS: {
    text: 'invalid parameters for "{verb}": {why}',
    hint: 'docs/commands.md lists the verbs and their parameters.',
    exit: 2,
    rpc: RPC.invalidParams,
  },
  GW_CALLER_UNKNOWN: {
    text: 'no caller named "{caller}"{known}',
    hint: 'Use key:<name>, token:<subject>, or anonymous.',
    exit: 5,
    rpc: RPC.invalidParams,
  },
  GW_NO_SOURCE: {
    text: 'no configuration source for a reload',
    hint: 'Pass `load` to createGateway, or pass the configuration to reload.',
    exit: 3,
    rpc: RPC.internal,
  },
  GW_NO_GATEWAY: {
    text: 'no gateway is running with {config}',
    hint: 'Start one with gateway serve, or in the background with gateway up; gateway ps --all lists all gateways, --config selects one; control.enabled must not be false.',
    exit: 4,
  },
  GW_RUNS_ALREADY: {
    text: 'a gateway with {config} is already running, and uses the address',
    hint: 'gateway status shows it, gateway reload applies a changed file, gateway down stops it.',
    exit: 4,
  },
  GW_BACKGROUND: {
    text: 'background gateway failed to start: {why}',
    hint: 'See its log: {log}; to see the error in the terminal, run gateway serve -c {config}.',
    exit: 4,
  },
  GW_MANY_GATEWAYS: {
    text: '{count} gateways are running with {config}:{sockets}',
    hint: 'Choose one with --socket.',
    exit: 4,
  },
  GW_CONTROL: {
    text: 'control socket {socket} cannot be used: {why}',
    hint: 'You must own the socket, and no other user may write to its directory.',
    exit: 4,
    rpc: RPC.internal,
  },
  GW_NO_LISTENER: {
    text: 'no listener configured',
    hint: 'Add one under listeners, use --stdio for one client on stdin and stdout, or gateway up for the clients of this machine.',
    exit: 3,
  },
  GW_CONFIG_NOT_FOUND: {
    text: 'no gateway.yaml found in {directory} or its parent directories',
    hint: 'Create one with gateway init, or specify it with --config.',
    exit: 3,
  },
  GW_CONFIG_UNTRUSTED: {
    text: '{file} is not trusted: {why}, and its servers, plugins and commands would run with your permissions',
    hint: 'Review it, then make sure that you own the file and its directory (chown) and that other users cannot write to them (chmod o-w), or mount it read-only.',
    exit: 3,
  },
  GW_CONFIG_UNREADABLE: {
    text: 'cannot read {file}: {why}',
    hint: 'Check the path and its permissions.',
    exit: 3,
  },
  GW_CONFIG_INVALID: {
    text: '{count} in the configuration',
    hint: 'Nothing was started or changed. docs/reference/config.md documents all keys.',
    exit: 3,
  },
  GW_PLUGIN_LOAD: {
    text: 'plugin "{plugin}" could not be loaded: {why}',
    hint: 'Check plugins.{plugin}.use.',
    exit: 3,
  },
  GW_PLUGIN_OPTIONS: {
    text: 'plugin "{plugin}" has invalid options: {why}',
    hint: 'Correct the options; see docs/reference/config.md, or the schema of the plugin.',
    exit: 3,
  },
  GW_PLUGIN_SETUP: {
    text: 'plugin "{plugin}" failed to set up: {why}',
    hint: 'Fix the plugin, or disable it with plugins.{plugin}.enabled: false.',
    exit: 4,
  },
  GW_PLUGIN_FAILED: {
    text: 'plugin "{plugin}" failed in hook "{hook}"',
    hint: 'gateway ps shows the cause; only this request failed.',
    http: 500,
    rpc: RPC.internal,
  },
  GW_PLUGIN_TIMEOUT: {
    text: 'plugin "{plugin}" timed out in hook "{hook}" after {ms} ms',
    hint: 'A promise of the plugin did not settle, so the request was refused; "hooks.timeout" sets the timeout.',
    http: 500,
    rpc: RPC.internal,
  },
  GW_HOOK_SEALED: {
    text: 'plugin "{plugin}" taps "{hook}" after setup',
    hint: 'Tap in setup(); hooks are sealed once the graph is built.',
    exit: 4,
  },
  GW_HOOK_UNKNOWN: {
    text: 'plugin "{plugin}" must run before "{other}", which is not installed',
    hint: 'Specify a plugin that is installed, or use a stage.',
    exit: 4,
  },
  GW_LISTEN: {
    text: 'listener "{listener}" cannot listen on {address}: {why}',
    hint: 'Choose another port or host in listeners.{listener}; to use any free port once: --set listeners.{listener}.port=0.',
    exit: 4,
  },
  GW_SHARED_AWAY: {
    text: 'shared store unavailable: {why}',
    hint: 'Try again. With cluster, check Redis and run gateway replicas.',
    http: 503,
    rpc: RPC.internal,
    isLocal: true,
  },
  GW_TOO_LARGE: {
    text: '{what} is larger than {limit} bytes',
    hint: 'Raise the limit in the configuration if the size is intended.',
    http: 413,
    rpc: RPC.internal,
  },
  GW_OVERLOADED: {
    text: 'overloaded, retry later',
    hint: 'Retry later. The limits of the listener and the section "overload" set the thresholds.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_START: {
    text: 'upstream "{upstream}" did not start: {why}',
    hint: 'Run its command or open its URL by hand; its stderr is in the log. If it answers initialize only, set era: legacy.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_LOGIN: {
    text: 'upstream "{upstream}" needs a login: {why}',
    hint: 'Log in and retry; it starts automatically. gateway logins lists the logins.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_DOWN: {
    text: 'upstream "{upstream}" is not available: {why}',
    hint: 'It is retried automatically; gateway inspect shows its state.',
    exit: 4,
    http: 503,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_STOPPED: {
    text: 'upstream "{upstream}" was stopped',
    hint: 'gateway start {upstream} starts it.',
    exit: 4,
    http: 503,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_CLOSED: {
    text: 'upstream "{upstream}" closed the connection: {why}',
    hint: 'The call was not retried; repeat it if that is safe.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_PROTOCOL: {
    text: 'upstream "{upstream}" violated the protocol: {why}',
    hint: 'Its log, and the log of the gateway at level debug, show the message.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_ERROR: {
    text: 'upstream "{upstream}" answered {method} with an error: {why}',
    hint: "The error is the server's own; its log may have details.",
    exit: 8,
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_AUTH: {
    text: 'upstream "{upstream}" refused the credentials: {why}',
    hint: 'Check upstreams.{upstream}.headers.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_FORBIDDEN: {
    text: 'upstream "{upstream}" denied access: {why}',
    hint: 'The gateway log and gateway ps show its message.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_BUSY: {
    text: 'upstream "{upstream}" is overloaded: {why}',
    hint: 'Retry after retryAfterMs; raise upstreams.{upstream}.limits if the server can handle more.',
    http: 503,
    rpc: RPC.internal,
    isLocal: true,
  },
  GW_UNAUTHORIZED: {
    text: 'authentication required: {why}',
    hint: 'Send an API key or a token of the configured issuer, as Authorization: Bearer.',
    http: 401,
    rpc: RPC.invalidRequest,
  },
  GW_CANCELLED: { text: 'the request was cancelled', hint: 'Nothing to do.', exit: 9, rpc: RPC.internal },
  GW_STOPPING: {
    text: 'the gateway is stopping',
    hint: 'Retry when it is running again.',
    http: 503,
    rpc: RPC.internal,
  },
} as const satisfies Record<string, ErrorEntry>
