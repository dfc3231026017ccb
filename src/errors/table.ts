import { RPC } from '../protocol/rpc-error.ts'

/** One error: what it says, what to do, and what it is elsewhere. */
export interface ErrorEntry {
  /** `{name}` is filled from the fields given. Says what and where. */
  readonly text: string
  /** Advice on what to do about it. */
  readonly hint: string
  /** Process exit code: 1 our bug, 2 usage, 3 config, 4 could not start, 5 a server said no. */
  readonly exit?: number
  /** HTTP status when it is the whole answer. */
  readonly http?: number
  /** JSON-RPC code when it answers a request. */
  readonly rpc?: number
  /** State that it puts the upstream into whose requests it ends, where that is not `failed`. */
  readonly state?: 'needs_auth'
  /** True where it says nothing of the server that a call was for. The next caller hears it as it is, and no breaker counts it. */
  readonly isLocal?: true
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
    text: 'stopped at a question: nothing was done',
    hint: 'Run the command again; its flags say what needs no question.',
    exit: 1,
  },
  GW_TOOL_UNKNOWN: {
    text: 'there is no tool "{tool}"{meant}',
    hint: 'gateway tools lists what there is.',
    exit: 2,
  },
  GW_IMPORT: {
    text: 'cannot import {file}: {why}',
    hint: "Give it a client's settings with MCP servers in them, such as .mcp.json.",
    exit: 2,
  },
  GW_INIT: {
    text: 'cannot write {file}: {why}',
    hint: 'Look at its directory, or name another file with --output.',
    exit: 4,
  },
  GW_REGISTRY_UNKNOWN: {
    text: 'nobody says which registry of servers is meant',
    hint: 'Give --registry the URL of one, or a file that it was saved in; or write it into gateway.yaml as registry: { url: … }.',
    exit: 2,
  },
  GW_REGISTRY: {
    text: 'the registry {registry} does not help: {why}',
    hint: 'Look at its URL, or at the file that it was saved in.',
    exit: 2,
  },
  GW_ADD_REFUSED: {
    text: '{server} cannot be added: {why}',
    hint: 'What it wants can be written into gateway.yaml by hand, by who trusts it.',
    exit: 2,
  },
  GW_ADD_TRIAL: {
    text: '{upstream} does not start, so it was not added: {why}',
    hint: 'Give it what it misses: {help}. Or add it unseen with --no-start.',
    exit: 4,
  },
  GW_FILE_EXISTS: {
    text: '{file} exists already',
    hint: 'Choose another name, or overwrite it with --force.',
    exit: 2,
  },
  GW_REFUSED: {
    text: 'refused: {why} (JSON-RPC error {code})',
    hint: 'Where the arguments are wrong, gateway tools --json shows their schema; a rule of the configuration may refuse too.',
    exit: 5,
  },
  GW_FETCH_REFUSED: {
    text: '{url} is not asked: {why}',
    hint: 'Servers may name public https URLs only, unless they are private themselves. List a host of your own network in "network.private"; the log has its address.',
    rpc: RPC.internal,
  },
  GW_FETCH_FAILED: {
    text: '{url} gave no reply: {why}',
    hint: 'Look whether this machine reaches it, through HTTPS_PROXY where there is one.',
    rpc: RPC.internal,
  },
  GW_UPSTREAM_UNKNOWN: {
    text: 'there is no upstream "{upstream}"{meant}',
    hint: 'gateway ps lists those of the running gateway.',
    exit: 2,
    rpc: RPC.invalidParams,
  },
  GW_PROFILE_UNKNOWN: {
    text: 'there is no profile "{profile}"{meant}',
    hint: 'profiles.<name> declares one; with `principals` it is for those callers only.',
    exit: 2,
    http: 404,
    rpc: RPC.invalidParams,
  },
  GW_VERB_UNKNOWN: {
    text: 'there is no verb "{verb}"; known: {known}',
    hint: 'Verbs that plugins add are there while the configuration installs the plugin.',
    exit: 2,
    rpc: RPC.methodNotFound,
  },
  GW_NOT_CONFIGURED: {
    text: 'this gateway has no "{keys}"',
    hint: 'Add "{keys}" to its gateway.yaml (docs/reference/config.md), and run gateway reload.',
    exit: 2,
  },
  GW_VERB_PARAMS: {
    text: 'wrong parameters of "{verb}": {why}',
    hint: 'docs/commands.md has the verbs with their parameters.',
    exit: 2,
    rpc: RPC.invalidParams,
  },
  GW_CALLER_UNKNOWN: {
    text: 'nobody is called "{caller}"{known}',
    hint: 'Say key:<name>, token:<subject>, or anonymous.',
    exit: 2,
    rpc: RPC.invalidParams,
  },
  GW_NO_SOURCE: {
    text: 'this gateway does not know where its configuration comes from',
    hint: 'Give createGateway a `load`, or give the configuration to reload.',
    exit: 3,
    rpc: RPC.internal,
  },
  GW_NO_GATEWAY: {
    text: 'no gateway runs with {config}',
    hint: 'Start one with gateway serve, or in the background with gateway up; gateway ps --all shows those of other files, and --config names one; control.enabled must not be false.',
    exit: 4,
  },
  GW_RUNS_ALREADY: {
    text: 'the gateway of {config} runs already, and has the address',
    hint: 'gateway status shows it, gateway reload has it take a changed file, gateway down stops it.',
    exit: 4,
  },
  GW_BACKGROUND: {
    text: 'the gateway in the background did not start: {why}',
    hint: 'Its log is {log}; gateway serve -c {config} shows the same in the foreground.',
    exit: 4,
  },
  GW_MANY_GATEWAYS: {
    text: '{count} gateways run with {config}:{sockets}',
    hint: 'Choose one with --socket.',
    exit: 4,
  },
  GW_CONTROL: {
    text: 'control socket {socket} cannot be used: {why}',
    hint: 'It must be a socket of yours, in a directory that nobody else can write to.',
    exit: 4,
    rpc: RPC.internal,
  },
  GW_NO_LISTENER: {
    text: 'there is nowhere for clients to connect: no listener is configured',
    hint: 'Add one under listeners, serve one client on stdin and stdout with --stdio, or the clients of this machine with gateway up.',
    exit: 3,
  },
  GW_CONFIG_NOT_FOUND: {
    text: 'no gateway.yaml found from {directory} upwards',
    hint: 'Make one with gateway init, write one, or name it with --config.',
    exit: 3,
  },
  GW_CONFIG_UNTRUSTED: {
    text: '{file} is not used: {why}, and its servers, plugins and commands would run with your rights',
    hint: 'Read it, then let only its owner write to it and to its directory (chmod o-w), and make it yours (chown), or mount it read-only.',
    exit: 3,
  },
  GW_CONFIG_UNREADABLE: {
    text: 'cannot read {file}: {why}',
    hint: 'Check the path and its permissions.',
    exit: 3,
  },
  GW_CONFIG_INVALID: {
    text: '{count} in the configuration',
    hint: 'Nothing was started or changed. Every key is in docs/reference/config.md.',
    exit: 3,
  },
  GW_PLUGIN_LOAD: {
    text: 'plugin "{plugin}" could not be loaded: {why}',
    hint: 'Check plugins.{plugin}.use.',
    exit: 3,
  },
  GW_PLUGIN_OPTIONS: {
    text: 'plugin "{plugin}" refuses its options: {why}',
    hint: 'Correct them where the place says; docs/reference/config.md has the sections, and a plugin of your own its schema.',
    exit: 3,
  },
  GW_PLUGIN_SETUP: {
    text: 'plugin "{plugin}" failed to set up: {why}',
    hint: 'The log has the stack.',
    exit: 4,
  },
  GW_PLUGIN_FAILED: {
    text: 'plugin "{plugin}" failed in hook "{hook}"',
    hint: 'The log has the cause; only this exchange failed.',
    http: 500,
    rpc: RPC.internal,
  },
  GW_PLUGIN_TIMEOUT: {
    text: 'plugin "{plugin}" came to no end in hook "{hook}" within {ms} ms',
    hint: 'A promise of the plugin did not settle, and what it was to decide is refused; "hooks.timeout" says how long it may take.',
    http: 500,
    rpc: RPC.internal,
  },
  GW_HOOK_SEALED: {
    text: 'plugin "{plugin}" taps "{hook}" after setup',
    hint: 'Tap in setup(); hooks are sealed once the graph is built.',
    exit: 4,
  },
  GW_HOOK_UNKNOWN: {
    text: 'plugin "{plugin}" wants to run before or after "{other}", which is not installed',
    hint: 'Name a plugin that is installed, or use a stage.',
    exit: 4,
  },
  GW_LISTEN: {
    text: 'listener "{listener}" cannot listen on {address}: {why}',
    hint: 'Choose another port or host in listeners.{listener}; to serve once on a free one: --set listeners.{listener}.port=0.',
    exit: 4,
  },
  GW_SHARED_AWAY: {
    text: 'what several processes of this gateway keep in common cannot be reached: {why}',
    hint: 'Try again. With cluster, look at Redis; see: gateway replicas.',
    http: 503,
    rpc: RPC.internal,
    isLocal: true,
  },
  GW_TOO_LARGE: {
    text: '{what} is larger than {limit} bytes',
    hint: 'Raise the limit in the configuration if it is meant.',
    http: 413,
    rpc: RPC.internal,
  },
  GW_OVERLOADED: {
    text: 'the gateway has no room for this now',
    hint: 'Call again in a moment. limits of the listener and overload say where it begins.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_START: {
    text: 'upstream "{upstream}" did not start: {why}',
    hint: 'Run its command or open its URL by hand; its stderr is in the log. If it answers initialize only, set era: legacy.',
    exit: 4,
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_LOGIN: {
    text: 'upstream "{upstream}" needs a login: {why}',
    hint: 'Log in, and call again: it is started by itself then. gateway logins shows who has logged in where.',
    exit: 4,
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_DOWN: {
    text: 'upstream "{upstream}" is not available: {why}',
    hint: 'It is tried again by itself; gateway inspect shows its state.',
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
    hint: 'Nothing was retried; call again if it is safe to.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_PROTOCOL: {
    text: 'upstream "{upstream}" broke the protocol: {why}',
    hint: 'Its log, and ours at level debug, show the message.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_ERROR: {
    text: 'upstream "{upstream}" answered {method} with an error: {why}',
    hint: "The error is the server's own; its log may say more.",
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_AUTH: {
    text: 'upstream "{upstream}" refused our credentials: {why}',
    hint: 'Check upstreams.{upstream}.headers.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_FORBIDDEN: {
    text: 'upstream "{upstream}" does not allow this: {why}',
    hint: 'The log of the gateway and gateway ps have what it said.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_BUSY: {
    text: 'upstream "{upstream}" has no room for this call: {why}',
    hint: 'Call again after retryAfterMs; raise upstreams.{upstream}.limits if the server can take more.',
    http: 503,
    rpc: RPC.internal,
    isLocal: true,
  },
  GW_UNAUTHORIZED: {
    text: 'who sends this is not known: {why}',
    hint: 'Send an API key or a token of the configured issuer, as Authorization: Bearer.',
    http: 401,
    rpc: RPC.invalidRequest,
  },
  GW_CANCELLED: { text: 'the request was cancelled', hint: 'Nothing to do.', rpc: RPC.internal },
  GW_STOPPING: {
    text: 'the gateway is stopping',
    hint: 'Call again when it is back.',
    http: 503,
    rpc: RPC.internal,
  },
} as const satisfies Record<string, ErrorEntry>
