// Generated from schemas/base.json and plugins/*/schema.json by `npm run gen`. Do not edit.

/**
 * A place where clients arrive.
 */
export type ListenerConfig = HttpListenerConfig | StdioListenerConfig | SocketListenerConfig
/**
 * An MCP server behind the gateway.
 */
export type UpstreamConfig =
  StdioUpstreamConfig | HttpUpstreamConfig | SseUpstreamConfig | WsUpstreamConfig | OpenApiUpstreamConfig
/**
 * What happens when a tool, prompt, resource template or instructions are not as `gateway.lock` has them: nothing (`off`), a line in the log (`warn`), a changed one is in no list and cannot be called (`withhold`), a new one neither (`strict`). That of an upstream wins over that of the gateway. Default: `off`.
 */
export type PinsMode = 'off' | 'warn' | 'withhold' | 'strict'
/**
 * Entries in the order in which they are tried.
 */
export type CallerKeysConfig = readonly CallerKeyConfig[]
/**
 * `full` shows every tool as it is. `compact` shows every tool with its first sentence and what its arguments must be. `search` shows tools that find, describe and call the others. `code` shows tools that find and describe the others, and `run_code`, which runs a short script that calls them. `auto` is `full` while that fits the budget, and for clients that put off tools by themselves, else `search`.
 */
export type SurfaceMode = 'full' | 'compact' | 'search' | 'code' | 'auto'
/**
 * Tokens that the list of tools may take in the context of a model, as estimated: bytes by 3.6. In the modes `search` and `code` no list is larger.
 */
export type SurfaceBudget = number
/**
 * Tools, by the names clients use, that are always shown as they are, as far as the budget allows.
 */
export type SurfacePinned = readonly string[]
/**
 * How many tools one search finds, unless it asks for another number.
 */
export type SurfaceResults = number
/**
 * Modes that a client may choose by the query of its URL, as in `/mcp?surface=search`. Its choice wins over `mode` and `clients`; another one is refused.
 */
export type SurfaceChoices = readonly SurfaceMode[]
/**
 * One rule: what it matches, and either where that goes or why it is refused.
 */
export type RouteConfig =
  | {
      readonly match: RouteMatch
      /**
       * Upstream that gets the request.
       */
      readonly to: string
      readonly deny?: undefined
    }
  | {
      readonly match: RouteMatch
      readonly to?: undefined
      /**
       * Refuses the request, with this reason.
       */
      readonly deny: string
    }

/**
 * gateway.yaml: what clients may connect to, which MCP servers stand behind it, and what happens in between.
 */
export interface Config {
  /**
   * Version of this file format.
   */
  readonly version: 1
  /**
   * One or more files this one builds on, relative to this file. Later ones win over earlier ones, this file over all of them.
   */
  readonly extends?: string | readonly string[]
  readonly server: ServerConfig
  readonly log: LogConfig
  readonly lists: ListsConfig
  readonly shutdown: ShutdownConfig
  readonly control: ControlConfig
  readonly hooks: HooksConfig
  readonly processes: ProcessesConfig
  readonly secrets: SecretsConfig
  readonly registry?: RegistryConfig
  readonly network: NetworkConfig
  /**
   * Where what is known of the servers is kept from one run to the next, so that clients are greeted and get their lists before a server runs; `false` keeps none of it. Plugins keep there what outlives a restart, such as logins, tasks of agents and day quotas. Read at the start only. Default: a directory of this configuration file under the user's state directory for `gateway serve`, and none for a gateway that is embedded.
   */
  readonly state?: StateConfig | false
  /**
   * Where clients arrive, by name. Without any, only `gateway serve --stdio` has something to serve.
   */
  readonly listeners: {
    readonly [k: string]: ListenerConfig
  }
  /**
   * The MCP servers behind the gateway, by name. The first one declared wins where names collide.
   */
  readonly upstreams: {
    readonly [k: string]: UpstreamConfig
  }
  /**
   * Plugins of your own or from npm, by name. Their options live here and nowhere else.
   */
  readonly plugins: {
    readonly [k: string]: PluginConfig
  }
  readonly activity?: ActivityConfig
  readonly agents?: AgentsConfig
  readonly approve?: ApproveConfig
  readonly audit?: AuditConfig
  readonly auth?: AuthConfig
  /**
   * What is answered from memory; `false` turns the cache off.
   */
  readonly cache: CacheConfig | false
  readonly cluster?: ClusterConfig
  /**
   * Lists in the form that each client can read: names, schemas and kinds of things; `false` shows every client the full form.
   */
  readonly fit: FitConfig | false
  readonly metrics?: MetricsConfig
  readonly oauth?: OAuthConfig
  /**
   * From where on new requests are refused, so that those under way can end; `false` never refuses any for this.
   */
  readonly overload: OverloadConfig | false
  readonly pins?: PinsMode
  readonly policy?: PolicyConfig
  /**
   * Several views of one gateway, by name.
   */
  readonly profiles?: {
    readonly [k: string]: ProfileConfig
  }
  readonly rateLimit?: RateLimitConfig
  readonly redact?: RedactConfig
  readonly rest?: RestConfig
  /**
   * Rules that send a request somewhere else, or refuse it. The first one that matches wins; without a match the owner of the name gets the request.
   */
  readonly routes?: readonly RouteConfig[]
  readonly sessionHeaders?: SessionHeadersConfig
  readonly shape?: ShapeConfig
  readonly surface?: SurfaceConfig
  readonly filters?: FiltersConfig
  readonly tracing?: TracingConfig
  readonly ui?: UiConfig
}
/**
 * How the gateway introduces itself to clients.
 */
export interface ServerConfig {
  /**
   * Name shown to clients.
   */
  readonly name: string
  /**
   * Version shown to clients. Default: the gateway's own.
   */
  readonly version?: string
  /**
   * Title for people.
   */
  readonly title?: string
  /**
   * What a model should know about these tools. Default: the upstreams' instructions, one after the other.
   */
  readonly instructions?: string
}
/**
 * The log on stderr.
 */
export interface LogConfig {
  /**
   * The least severe level that is written.
   */
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /**
   * `pretty` for people, `json` for machines, `auto` chooses by whether stderr is a terminal.
   */
  readonly format: 'auto' | 'pretty' | 'json'
}
/**
 * How lists of tools, prompts and resources are answered.
 */
export interface ListsConfig {
  /**
   * Entries per page.
   */
  readonly pageSize: number
  /**
   * How long the first list waits for upstreams that are still starting or were never listed; the time of each counts once, from the first who waited for it. What comes later is announced by `list_changed`, but some clients never list again. A call by a name that no list has waits as long; if all lists have come, such a name is unknown at once.
   */
  readonly grace: string | number
  /**
   * How long a list waits for an upstream whose list is known; after that the known one is used, marked in `_meta`, and a later one announced by `list_changed`.
   */
  readonly wait: string | number
}
/**
 * How the gateway stops.
 */
export interface ShutdownConfig {
  /**
   * How long open requests may go on after a stop was asked for. When the client on stdin closes it, they have 0.2 s.
   */
  readonly grace: string | number
  /**
   * How long HTTP listeners serve on after SIGTERM, before the stop begins, so that load balancers look elsewhere first: `/readyz` is 503 from then on, and each answer ends its connection. A second signal stops at once.
   */
  readonly delay: string | number
}
/**
 * The control socket of `gateway serve`, for `gateway ps`, `start`, `stop`, `restart`, `logs`, `reload` and `cache`. Only the same user can connect.
 */
export interface ControlConfig {
  /**
   * Whether `gateway serve` opens one.
   */
  readonly enabled: boolean
  /**
   * Path of the socket, or name of a pipe on Windows. Nobody else may write to its directory. Default: one of its own for each gateway, under XDG_RUNTIME_DIR or the directory for temporary files.
   */
  readonly socket?: string
}
/**
 * The hooks that plugins tap.
 */
export interface HooksConfig {
  /**
   * How long a plugin may keep a caller, a session, a request, an answer, a command of the owner or the start waiting. What it was to decide is refused then, and the log names it. What may wait for a person or a call has ten minutes, and what wraps the calls of an upstream its `timeout`. 0 for as long as it takes.
   */
  readonly timeout: string | number
}
/**
 * Bounds on the processes of all `stdio` upstreams together.
 */
export interface ProcessesConfig {
  /**
   * Most processes at a time. Beyond it one that a session or caller has left idle longest makes room, and one that is being ended is waited for; where there is neither, callers are told that the server is busy. Fifteen clients with ten servers of their own each are 150.
   */
  readonly max: number
  /**
   * How many may be starting at a time; more wait for their turn.
   */
  readonly starting: number
}
/**
 * Where secrets come from, and what seals those that the gateway keeps.
 */
export interface SecretsConfig {
  /**
   * Command behind `${keyring:name}`, which prints the secret; `{name}` stands for the name, and without it the name is the last argument. It runs without a shell, for at most 5 seconds. Default: `secret-tool lookup service tapgate name {name}` on Linux, `security find-generic-password -s tapgate -a {name} -w` on macOS.
   */
  readonly keyring?: readonly string[]
  /**
   * Command that prints the key by which logins are sealed on disk: 32 bytes in base64 or hex, or any text of 32 characters or more. It runs without a shell, for at most 5 seconds.
   */
  readonly keyCommand?: readonly string[]
  /**
   * File with that key, such as a secret of Kubernetes or a credential of systemd; relative to the configuration. Default: a file of mode 0600 in the state directory, made when it is needed, which protects copies of that directory and not against who may read it.
   */
  readonly keyFile?: string
}
/**
 * The registry of MCP servers that `gateway search` and `gateway add` look in. A gateway that serves asks none.
 */
export interface RegistryConfig {
  /**
   * Where its API (v0.1) begins.
   */
  readonly url?: string
  /**
   * A file that holds what the API would say, relative to the configuration. It is asked instead of the URL.
   */
  readonly file?: string
}
/**
 * The network that the gateway is in.
 */
export interface NetworkConfig {
  /**
   * Hosts that are not public, and that servers may name all the same for logins, keys and the like: names, `*.` before a name for those below it, addresses, and networks. Without it a server that is public itself can name public https URLs only; one on this machine or with a private address or name may name others of its kind.
   */
  readonly private: readonly string[]
}
/**
 * What outlives the gateway's process: what each server says of itself and the lists that are everybody's.
 */
export interface StateConfig {
  /**
   * The directory, made with mode 0700 when there is something to keep; relative to the configuration file.
   */
  readonly directory: string
}
/**
 * Streamable HTTP, both protocol eras on one endpoint; HTTP+SSE and WebSocket beside it where they are wanted.
 */
export interface HttpListenerConfig {
  /**
   * An HTTP endpoint.
   */
  readonly type: 'http'
  /**
   * Address to bind. Anything but loopback needs `auth`, or `exposeWithoutAuth: true`.
   */
  readonly host: string
  /**
   * Port to bind; 0 picks a free one.
   */
  readonly port: number
  readonly tls?: ListenerTlsConfig
  /**
   * URL below which clients reach this listener, where that is not the address it is bound to, such as behind a proxy. Metadata, challenges and links that clients get begin with it; its host and origin are accepted.
   */
  readonly publicUrl?: string
  /**
   * Path of the MCP endpoint.
   */
  readonly path: string
  /**
   * Which protocol eras single HTTP requests may be of. A modern request is a session of its own, so an upstream with `isolation: session` would forget its client with each. `auto` therefore offers legacy sessions only where the clients of this listener reach such an upstream, but for requests that carry the `sessionLabel`; clients of both eras fall back by themselves. `both` and `legacy` hold whatever is reached. A WebSocket is one session in either era.
   */
  readonly eras: 'auto' | 'both' | 'legacy'
  /**
   * The request header in which a caller names its conversation, so that its requests share what stateful servers keep (`isolation: session`), whatever protocol they come by. It counts inside the verified caller only and identifies nobody; `false` reads none.
   */
  readonly sessionLabel: string | false
  /**
   * Host header values to accept besides loopback and the bound address.
   */
  readonly allowedHosts: readonly string[]
  /**
   * Browser origins to accept besides the listener's own.
   */
  readonly allowedOrigins: readonly string[]
  /**
   * Says that binding beyond loopback without authentication is meant: everyone who reaches the port may use every tool.
   */
  readonly exposeWithoutAuth: boolean
  /**
   * HTTP+SSE of protocol version 2024-11-05, for clients that know nothing newer; `{}` turns it on.
   */
  readonly sse: SseEndpointConfig | false
  /**
   * WebSocket, both protocol eras, one JSON-RPC message per text frame; `{}` turns it on.
   */
  readonly ws: WsEndpointConfig | false
  readonly limits: HttpLimitsConfig
  /**
   * The profile that a client gets who names none. On a socket it is the only one: what a program asks for there counts where the listener names none.
   */
  readonly profile?: string
}
/**
 * Makes the listener speak HTTPS, and lets clients prove who they are by certificates. Files are PEM, relative to the configuration file, and read again at each reload.
 */
export interface ListenerTlsConfig {
  /**
   * The certificate of the listener, with those between it and its authority.
   */
  readonly cert: string
  /**
   * The private key of `cert`.
   */
  readonly key: string
  /**
   * What `key` is encrypted with.
   */
  readonly passphrase?: string
  /**
   * Certificates of the authorities that clients' certificates must be signed by (mTLS). Without it clients are not asked for one. `auth.certificates` says whose they are.
   */
  readonly clientCa?: string
  /**
   * With `clientCa`: whether a client without a certificate gets a connection. Where it does, it may show a key or a token instead.
   */
  readonly clientCert: 'required' | 'optional'
}
/**
 * Where HTTP+SSE is served.
 */
export interface SseEndpointConfig {
  /**
   * Path of the event stream.
   */
  readonly path: string
  /**
   * Path that clients post their messages to.
   */
  readonly messages: string
}
/**
 * Where WebSocket is served.
 */
export interface WsEndpointConfig {
  /**
   * Path of the endpoint.
   */
  readonly path: string
}
/**
 * Bounds of an HTTP listener.
 */
export interface HttpLimitsConfig {
  /**
   * Largest request body.
   */
  readonly body: string | number
  /**
   * Most sessions at a time.
   */
  readonly sessions: number
  /**
   * Most sessions of one caller at a time. Callers whom nobody asked who they are count as many, and have the listener's limit.
   */
  readonly sessionsPerPrincipal: number
  /**
   * How long a session is kept in which nothing happens. A WebSocket or an event stream of HTTP+SSE is closed.
   */
  readonly idle: string | number
  /**
   * Most connections at a time.
   */
  readonly connections: number
  /**
   * How long a client may take nothing of what is written for it; its connection is cut then.
   */
  readonly unread: string | number
  /**
   * Most bytes held for all clients together: of request bodies until they are answered and messages over WebSocket until they are whole, and again of answers that are not read, or that wait for the others of their batch. A body for which there is no room is answered with 503, a WebSocket closed with 1013; for an answer, the connection is cut of the client that leaves the most unread, and one of a batch is left out with an error.
   */
  readonly held: string | number
  /**
   * Most bytes of `held` for one client: one caller, or one address where nobody asks who calls. A client that leaves half of it unread gets 429 for what it asks next.
   */
  readonly heldPerClient: string | number
}
/**
 * This process's own stdin and stdout; one client, one at most.
 */
export interface StdioListenerConfig {
  /**
   * The gateway's stdin and stdout.
   */
  readonly type: 'stdio'
  /**
   * The profile that a client gets who names none. On a socket it is the only one: what a program asks for there counts where the listener names none.
   */
  readonly profile?: string
}
/**
 * Programs of this user on this machine: one JSON-RPC message a line, as on stdio, for many clients at once. `gateway attach` connects a client to it.
 */
export interface SocketListenerConfig {
  /**
   * A Unix socket, or a named pipe on Windows.
   */
  readonly type: 'socket'
  /**
   * Where it is, with mode 0600; relative to the configuration file. On Windows the name of a pipe.
   */
  readonly path: string
  /**
   * Lets the gateway run without it where another one listens there.
   */
  readonly optional: boolean
  /**
   * The profile that a client gets who names none. On a socket it is the only one: what a program asks for there counts where the listener names none.
   */
  readonly profile?: string
}
/**
 * A local server: a process that speaks MCP on its stdin and stdout.
 */
export interface StdioUpstreamConfig {
  /**
   * A process on this machine.
   */
  readonly type: 'stdio'
  /**
   * The program to run, without its arguments. No shell is involved.
   */
  readonly command: string
  /**
   * Its arguments, one per entry.
   */
  readonly args: readonly string[]
  /**
   * Environment variables set for the process.
   */
  readonly env: {
    readonly [k: string]: string
  }
  /**
   * Variables of the gateway's own environment that the process gets besides those that every server gets: where programs and homes are (`PATH`, `HOME`, `USER`, `LANG`, `TMPDIR` and the like), and how the network is reached (`NODE_EXTRA_CA_CERTS`, `SSL_CERT_FILE`, `SSL_CERT_DIR`, `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` in both cases, and npm's `npm_config_proxy`, `…_https_proxy`, `…_noproxy`, `…_cafile`, `…_registry`). All others are kept from it; `env` may set any of them to something else.
   */
  readonly inheritEnv: readonly string[]
  /**
   * Working directory, relative to the configuration file; or `project`: a process for each project that clients work in, run where that is. A client says so with its first root, when it first calls; for one that has none, or cannot be asked, it is the directory that the gateway was started in. Lists come from a process there.
   */
  readonly cwd: string
  /**
   * With `cwd: project`: the directories, relative to the configuration file, in which a client's root must lie, links resolved. Default: the directory that the gateway was started in.
   */
  readonly projects?: readonly string[]
  readonly ceilings?: CeilingsConfig
  /**
   * Runs it in a sandbox of bubblewrap (Linux; `bwrap` must be installed): processes of its own that end with it, of the file system only the system, its working directory and a HOME of its own, no network unless it is given one. `bwrap` alone means all defaults.
   */
  readonly sandbox?: SandboxConfig | 'bwrap'
  /**
   * Longest line (one message) accepted from it.
   */
  readonly maxLine: string | number
  /**
   * What the names of its tools and prompts begin with. Default: the upstream's name and two underscores; an empty string means none. Resource URIs are kept as they are.
   */
  readonly prefix?: string
  /**
   * `false` keeps the entry in the file and leaves it out of the gateway.
   */
  readonly enabled: boolean
  /**
   * How long it may take to start and shake hands.
   */
  readonly startupTimeout: string | number
  /**
   * What its absence means for lists: `omit` leaves its entries out and says so in the log, `keep` goes on with what it listed last, `fail` answers with an error.
   */
  readonly onFailure: 'omit' | 'keep' | 'fail'
  /**
   * Protocol era it is spoken to in: `legacy` (initialize handshake, up to 2025-11-25), `modern` (2026-07-28), `auto` to find out (modern, where it speaks both), or `match` for the same, but that a legacy client that can be asked for something (elicitation, sampling, roots) is spoken for in its own era at a server of both, as tools written for that era ask there alone. That is a second connection, opened by the first such call; for `stdio` a second process, which knows nothing of what the first one keeps in memory.
   */
  readonly era: 'match' | 'auto' | 'legacy' | 'modern'
  /**
   * Who shares a connection to it (for `stdio`: a process): everyone (`shared`), or each client session (`session`) or caller (`principal`) on its own. A modern HTTP request is a session of its own unless it carries the listener's `sessionLabel`, so listeners offer legacy sessions where there is such an upstream (`eras`). A server that keeps state between calls may need the latter, and so may a legacy server on `stdio`, `sse` or `ws` that asks its clients a lot: where they share one, its calls that ask take turns. Lists always come from a connection that all share.
   */
  readonly isolation: 'shared' | 'session' | 'principal'
  /**
   * When it is started: with the gateway (`eager`), by the first who needs it (`lazy`), or with the gateway unless what it offers is known from before (`auto`).
   */
  readonly start: 'auto' | 'lazy' | 'eager'
  /**
   * After how long without a call its process or connection is ended; the next call starts it again. Never while a call is under way or somebody watches one of its resources. Default: never; connections of one session or caller (see `isolation`) end after 5 minutes.
   */
  readonly idle?: string | number
  /**
   * How long one process or connection lives at most: then a fresh one is started, takes the new calls, and the old one ends with its last call. What it keeps in memory is lost. Default: for ever.
   */
  readonly maxLifetime?: string | number
  readonly pool?: PoolConfig
  /**
   * How many equal processes share the calls, each going to the one with the fewest under way. For servers that keep nothing between calls, with `isolation: shared` only; lists and subscriptions use the first.
   */
  readonly replicas: number
  /**
   * What of its answers is kept, where that differs from `cache`; `false` keeps nothing.
   */
  readonly cache?: UpstreamCacheConfig | false
  readonly pins?: PinsMode
  /**
   * Rules of `policy` may believe what this server says of its tools: `upstream.trusted` in their expressions. It changes nothing else.
   */
  readonly trusted?: boolean
  /**
   * Words of your own for rules of `policy`: `"internal" in upstream.tags`.
   *
   * Items: A word.
   */
  readonly tags?: readonly string[]
  /**
   * How long a call may take, from its arrival and whatever it waits for, before the client gets an error; 0 means as long as it likes. Only a client that is asked something stops the time.
   */
  readonly timeout: string | number
  readonly limits: UpstreamLimitsConfig
  /**
   * When it is given a rest; `false` never. After a rest one call goes through as a probe: all others follow when it is answered, otherwise the next rest is longer.
   */
  readonly breaker: BreakerConfig | false
  /**
   * Which calls are made again when the server was unreachable, busy or broke off; `false` none. Lists, reads, prompts and completions are safe to repeat; tools only where you say so. Retries stay below one for every five calls.
   */
  readonly retry: RetryConfig | false
  readonly shape?: ShapeRule
  readonly tools?: ToolFilterConfig
  readonly prompts?: FilterConfig
  readonly resources?: ResourceFilterConfig
}
/**
 * The most that the operating system lets it have, by POSIX resource limits. They hold for each of its processes; what this machine cannot enforce is said in the log.
 */
export interface CeilingsConfig {
  /**
   * Memory that one of its processes may take for data (RLIMIT_DATA): an allocation beyond it fails. Node needs about 200MiB to start.
   */
  readonly memory?: string | number
  /**
   * Processes and threads that it and all it started may have together; those of others do not count. On Linux it is watched 20 times a second, and a server that has more is killed with all it started; in a sandbox the kernel refuses the one too many (RLIMIT_NPROC, but not to root). A Node server needs about 16 for itself.
   */
  readonly pids?: number
  /**
   * Files and sockets that one of its processes may have open (RLIMIT_NOFILE).
   */
  readonly files?: number
  /**
   * Largest file that it may write (RLIMIT_FSIZE).
   */
  readonly fileSize?: string | number
  /**
   * Time that one of its processes may compute, over its whole life (RLIMIT_CPU); it is ended then. Whole seconds.
   */
  readonly cpuTime?: string | number
}
/**
 * What a sandboxed server may see and touch besides what every sandbox has: the system's programs and libraries, what its command needs to run, its working directory and a HOME of its own. What belongs to the gateway – configuration, state, audit, sockets – is in none.
 */
export interface SandboxConfig {
  /**
   * What makes the sandbox: bubblewrap.
   */
  readonly type: 'bwrap'
  /**
   * Files and directories that it may read besides, relative to the configuration file; `~/` is the home directory of the gateway's user. They must exist.
   */
  readonly read: readonly string[]
  /**
   * Files and directories that it may read and write, relative to the configuration file; `~/` is the home directory of the gateway's user. They must exist. All else is read-only, but for its HOME and a `/tmp` of its own.
   */
  readonly write: readonly string[]
  /**
   * Whether it has a network; without one not even this machine's own.
   */
  readonly network: boolean
  /**
   * Files and directories within the others that it does not see, relative to the configuration file; `~/` is the home directory. The directory around one is shown entry by entry, as it is when the server starts.
   */
  readonly hide: readonly string[]
}
/**
 * Processes or connections of one session or caller (`isolation: session` or `principal`): how many are kept ready for newcomers, and how many there may be. One that somebody has used is never given to anybody else.
 */
export interface PoolConfig {
  /**
   * Processes or connections that are started ahead and wait for their owner.
   */
  readonly min: number
  /**
   * Most at a time, used or waiting. Beyond it the one idle longest makes room; where none is idle, the newcomer is refused.
   */
  readonly max: number
  /**
   * Most of one verified caller at a time. Beyond it his own that is idle longest makes room, never another caller's; where none is idle, the call is refused with `retryAfterMs`.
   */
  readonly perPrincipal: number
}
/**
 * What differs for one upstream from `cache`.
 */
export interface UpstreamCacheConfig {
  /**
   * Its lists.
   */
  readonly lists?: CachePolicyConfig | (string | number)
  /**
   * What was read from it; 0 keeps nothing.
   */
  readonly resources?: CachePolicyConfig | (string | number)
  /**
   * Its prompts; 0 keeps none.
   */
  readonly prompts?: CachePolicyConfig | (string | number)
  /**
   * Rules for its tools, by a glob over its own names, without prefix; asked before those of `cache.tools`.
   */
  readonly tools?: {
    readonly [k: string]: CacheToolConfig | string | number
  }
  /**
   * Whether replicas share its answers, where `cache.shared` is on. Default: yes for a server that all of them reach (`http`, `sse`, `ws`, `openapi`), no for a process that each of them starts. With `isolation: session` never.
   */
  readonly shared?: boolean
}
/**
 * How long answers are kept, and what tells them apart.
 */
export interface CachePolicyConfig {
  /**
   * How long an answer is given without asking the server.
   */
  readonly ttl: string | number
  /**
   * How much longer an answer that has grown old is given at once, while the server is asked in the background.
   */
  readonly staleWhileRevalidate?: string | number
  /**
   * How much longer it is given when the server cannot be asked.
   */
  readonly staleIfError?: string | number
  /**
   * What tells answers apart besides the caller and what was asked: `session`, `header:<name>` of the client's request, and `argument:<name>` – with one or more of the latter only these arguments matter. The caller (`principal`) always does.
   */
  readonly vary?: readonly string[]
  /**
   * Words by which these answers can be purged together.
   */
  readonly tags?: readonly string[]
}
/**
 * Whether a tool's answers are kept, or make others out of date.
 */
export interface CacheToolConfig {
  /**
   * How long an answer is given without calling the tool. Only for tools that change nothing.
   */
  readonly ttl?: string | number
  /**
   * How much longer an answer that has grown old is given at once, while the server is asked in the background.
   */
  readonly staleWhileRevalidate?: string | number
  /**
   * How much longer it is given when the server cannot be asked.
   */
  readonly staleIfError?: string | number
  /**
   * What tells answers apart besides the caller and what was asked: `session`, `header:<name>` of the client's request, and `argument:<name>` – with one or more of the latter only these arguments matter. The caller (`principal`) always does.
   */
  readonly vary?: readonly string[]
  /**
   * Words by which these answers can be purged together.
   */
  readonly tags?: readonly string[]
  /**
   * What its success makes out of date, for every caller: tools by glob, `resource:<glob>`, `prompt:<glob>`, or `tag:<tag>`.
   */
  readonly purges?: readonly string[]
}
/**
 * How many calls it gets at a time, and how many may wait. Callers take turns; where the queue is full, the one who fills it is refused, at once and with a hint when to come back.
 */
export interface UpstreamLimitsConfig {
  /**
   * Calls under way at a time; 0 means as many as come. A call whose client is asked something is none: its reply goes on when the call has a turn again.
   */
  readonly concurrency: number
  /**
   * Calls that may wait for their turn.
   */
  readonly queue: number
  /**
   * How long a call may wait for its turn; 0 means until its timeout, which counts from its arrival.
   */
  readonly queueTimeout: string | number
}
/**
 * When an upstream is given a rest, and for how long.
 */
export interface BreakerConfig {
  /**
   * Failures in a row that open it: it could not be reached, broke off, timed out, or answered HTTP 5xx. Timeouts of one tool in a row count once. Errors that the server chose to answer do not count, nor does 429.
   */
  readonly failures: number
  /**
   * A call that takes longer is slow, answered or not; 0 means none is. Tools with a timeout of their own are never slow.
   */
  readonly latency: string | number
  /**
   * Share of slow calls, within `window`, that opens it.
   */
  readonly share: number
  /**
   * How far back slow calls are counted.
   */
  readonly window: string | number
  /**
   * Calls in the window below which their share says nothing.
   */
  readonly calls: number
  /**
   * How long its first rest takes, give or take a fifth. The next is twice as long, then three times, up to five minutes.
   */
  readonly open: string | number
}
/**
 * What is tried again, and how often.
 */
export interface RetryConfig {
  /**
   * Tries in all, the first one included.
   */
  readonly attempts: number
  /**
   * Pause before the second try, give or take half; twice as long before each further one. A server's Retry-After is respected where the call's timeout leaves time for it.
   */
  readonly backoff: string | number
  /**
   * Globs for tools that may safely run twice, by the server's own names. A server's own hints are not believed.
   */
  readonly tools: readonly string[]
}
/**
 * How results of some tools are brought into form.
 */
export interface ShapeRule {
  /**
   * JMESPath expression: what of the result is given on, such as `items[].{title: title, url: url}`.
   */
  readonly pick?: string
  /**
   * Paths that are left out of the result: names with dots between them, `*` for every member, `[]` for every item.
   */
  readonly drop?: readonly string[]
  /**
   * Most that one result may be, in tokens (bytes by 3.6), or `client` for what is known of the client that asks. Over it lists lose items and text its middle, and the whole is kept for the caller.
   */
  readonly maxTokens?: number | string
  /**
   * Lets callers say by an added argument `_pick` what they want of a result.
   */
  readonly ask?: boolean
  /**
   * Time after which a call that is not answered goes on by itself, or `client` for nine tenths of what is known of the client that calls: as a task where the client knows tasks, and elsewhere behind a handle for the tool `result`.
   */
  readonly patience?: string | number
}
/**
 * What is visible of its tools, under which name and description, and how long each may take. Names are the server's own, without prefix.
 */
export interface ToolFilterConfig {
  /**
   * Only what one of these globs matches is visible and callable. Absent means everything, an empty list nothing.
   */
  readonly allow?: readonly string[]
  /**
   * What one of these globs matches is neither visible nor callable, even where `allow` names it.
   */
  readonly deny?: readonly string[]
  /**
   * New names by old name.
   */
  readonly rename?: {
    readonly [k: string]: string
  }
  /**
   * Descriptions that replace the server's own, by name.
   */
  readonly describe?: {
    readonly [k: string]: string
  }
  readonly override?: ToolOverrides
  /**
   * Timeouts of single tools, by the server's own name for them.
   */
  readonly timeout?: {
    /**
     * A duration such as `250ms`, `30s`, `5m`, `1h` or `1d`, or a number of milliseconds.
     */
    readonly [k: string]: string | number
  }
}
/**
 * Other words for tools than their servers have, by globs; of several that match one tool, later ones win. `describe` has their descriptions.
 */
export interface ToolOverrides {
  readonly [k: string]: ToolOverride
}
/**
 * What is otherwise of a tool than its server says.
 */
export interface ToolOverride {
  /**
   * Title for people.
   */
  readonly title?: string
  /**
   * Hints about what it does, over those of the server. Rules and `call_read_tool` go by them.
   */
  readonly annotations?: {
    /**
     * Title of old clients.
     */
    readonly title?: string
    /**
     * True if it changes nothing.
     */
    readonly readOnlyHint?: boolean
    /**
     * True if it may destroy something.
     */
    readonly destructiveHint?: boolean
    /**
     * True if the same call twice is like one.
     */
    readonly idempotentHint?: boolean
    /**
     * True if it reaches beyond its server.
     */
    readonly openWorldHint?: boolean
  }
  /**
   * Icons in place of the server's; an empty list takes them away.
   */
  readonly icons?: {
    /**
     * Address (https) or data URI of the picture.
     */
    readonly src: string
    /**
     * Type of the picture.
     */
    readonly mimeType?: string
    /**
     * Sizes that it has.
     */
    readonly sizes?: readonly string[]
    /**
     * Background that it is for.
     */
    readonly theme?: 'light' | 'dark'
  }[]
  /**
   * Descriptions inside the schema of its arguments, by JSON pointer.
   */
  readonly texts?: {
    readonly [k: string]: string
  }
  /**
   * Arguments by the server's own names for them. Clients see the schema that comes of it, and rules, the audit and the server the server's names.
   */
  readonly arguments?: {
    readonly [k: string]: ToolArgument
  }
}
/**
 * One argument.
 */
export interface ToolArgument {
  /**
   * Name that clients see and use; the server's own is unknown to them.
   */
  readonly rename?: string
  /**
   * What clients read about it.
   */
  readonly description?: string
  /**
   * Value for calls that leave it out; it is no longer required.
   */
  readonly default?: {
    readonly [k: string]: unknown
  }
  /**
   * Value of every call; clients neither see the argument nor may give it.
   */
  readonly value?: {
    readonly [k: string]: unknown
  }
  /**
   * Takes it away: clients neither see it nor may give it, and the server gets none.
   */
  readonly hide?: boolean
}
/**
 * What is visible and under which name and description.
 */
export interface FilterConfig {
  /**
   * Only what one of these globs matches is visible and callable. Absent means everything, an empty list nothing.
   */
  readonly allow?: readonly string[]
  /**
   * What one of these globs matches is neither visible nor callable, even where `allow` names it.
   */
  readonly deny?: readonly string[]
  /**
   * New names by old name.
   */
  readonly rename?: {
    readonly [k: string]: string
  }
  /**
   * Descriptions that replace the server's own, by name.
   */
  readonly describe?: {
    readonly [k: string]: string
  }
}
/**
 * Which resources are visible, by URI, and under which URI and description. Templates are never renamed.
 */
export interface ResourceFilterConfig {
  /**
   * Only what one of these globs matches is visible and callable. Absent means everything, an empty list nothing.
   */
  readonly allow?: readonly string[]
  /**
   * What one of these globs matches is neither visible nor callable, even where `allow` names it.
   */
  readonly deny?: readonly string[]
  /**
   * New URIs by old URI.
   */
  readonly rename?: {
    readonly [k: string]: string
  }
  /**
   * Descriptions that replace the server's own, by name.
   */
  readonly describe?: {
    readonly [k: string]: string
  }
}
/**
 * A remote server reached over Streamable HTTP, or over HTTP+SSE where it has nothing newer.
 */
export interface HttpUpstreamConfig {
  /**
   * A server reached over HTTP.
   */
  readonly type: 'http'
  /**
   * Its MCP endpoint.
   */
  readonly url: string
  /**
   * Parameters added to its URL in every request, such as a key that it wants there. They are secrets: a URL is shown without them.
   */
  readonly query?: {
    readonly [k: string]: string
  }
  /**
   * Headers sent with every request, such as credentials.
   */
  readonly headers: {
    readonly [k: string]: string
  }
  /**
   * The proxy that connections to it go through; `false` reaches it directly. Default: HTTPS_PROXY or HTTP_PROXY of the gateway's own environment, unless NO_PROXY names the server or it runs on this machine.
   */
  readonly proxy?: string | false
  readonly tls?: TlsConfig
  /**
   * Offers HTTP/2 to the server, over TLS; one that does not speak it gets HTTP/1.1.
   */
  readonly http2: boolean
  /**
   * Largest reply accepted from it.
   */
  readonly maxReply: string | number
  /**
   * What the names of its tools and prompts begin with. Default: the upstream's name and two underscores; an empty string means none. Resource URIs are kept as they are.
   */
  readonly prefix?: string
  /**
   * `false` keeps the entry in the file and leaves it out of the gateway.
   */
  readonly enabled: boolean
  /**
   * How long it may take to start and shake hands.
   */
  readonly startupTimeout: string | number
  /**
   * What its absence means for lists: `omit` leaves its entries out and says so in the log, `keep` goes on with what it listed last, `fail` answers with an error.
   */
  readonly onFailure: 'omit' | 'keep' | 'fail'
  /**
   * Protocol era it is spoken to in: `legacy` (initialize handshake, up to 2025-11-25), `modern` (2026-07-28), `auto` to find out (modern, where it speaks both), or `match` for the same, but that a legacy client that can be asked for something (elicitation, sampling, roots) is spoken for in its own era at a server of both, as tools written for that era ask there alone. That is a second connection, opened by the first such call; for `stdio` a second process, which knows nothing of what the first one keeps in memory.
   */
  readonly era: 'match' | 'auto' | 'legacy' | 'modern'
  /**
   * Who shares a connection to it (for `stdio`: a process): everyone (`shared`), or each client session (`session`) or caller (`principal`) on its own. A modern HTTP request is a session of its own unless it carries the listener's `sessionLabel`, so listeners offer legacy sessions where there is such an upstream (`eras`). A server that keeps state between calls may need the latter, and so may a legacy server on `stdio`, `sse` or `ws` that asks its clients a lot: where they share one, its calls that ask take turns. Lists always come from a connection that all share.
   */
  readonly isolation: 'shared' | 'session' | 'principal'
  /**
   * When it is started: with the gateway (`eager`), by the first who needs it (`lazy`), or with the gateway unless what it offers is known from before (`auto`).
   */
  readonly start: 'auto' | 'lazy' | 'eager'
  /**
   * After how long without a call its process or connection is ended; the next call starts it again. Never while a call is under way or somebody watches one of its resources. Default: never; connections of one session or caller (see `isolation`) end after 5 minutes.
   */
  readonly idle?: string | number
  readonly pool?: PoolConfig
  /**
   * How long one process or connection lives at most: then a fresh one is started, takes the new calls, and the old one ends with its last call. What it keeps in memory is lost. Default: for ever.
   */
  readonly maxLifetime?: string | number
  /**
   * What of its answers is kept, where that differs from `cache`; `false` keeps nothing.
   */
  readonly cache?: UpstreamCacheConfig | false
  readonly callers?: CallerKeysConfig
  /**
   * Headers of a caller's request that go on to this upstream, where the request has them; all others stay here. Callers, and requests whose values differ, share neither its sessions nor cached answers. Never credentials or what HTTP and MCP own.
   */
  readonly forwardHeaders?: readonly string[]
  readonly oauth?: UpstreamOAuthConfig
  readonly pins?: PinsMode
  /**
   * Rules of `policy` may believe what this server says of its tools: `upstream.trusted` in their expressions. It changes nothing else.
   */
  readonly trusted?: boolean
  /**
   * Words of your own for rules of `policy`: `"internal" in upstream.tags`.
   *
   * Items: A word.
   */
  readonly tags?: readonly string[]
  /**
   * How long a call may take, from its arrival and whatever it waits for, before the client gets an error; 0 means as long as it likes. Only a client that is asked something stops the time.
   */
  readonly timeout: string | number
  readonly limits: UpstreamLimitsConfig
  /**
   * When it is given a rest; `false` never. After a rest one call goes through as a probe: all others follow when it is answered, otherwise the next rest is longer.
   */
  readonly breaker: BreakerConfig | false
  /**
   * Which calls are made again when the server was unreachable, busy or broke off; `false` none. Lists, reads, prompts and completions are safe to repeat; tools only where you say so. Retries stay below one for every five calls.
   */
  readonly retry: RetryConfig | false
  readonly shape?: ShapeRule
  readonly tools?: ToolFilterConfig
  readonly prompts?: FilterConfig
  readonly resources?: ResourceFilterConfig
}
/**
 * Whom the gateway trusts when it connects over TLS, and how it proves who it is. Files are PEM, relative to the configuration file, and read again at each reload.
 */
export interface TlsConfig {
  /**
   * Certificates of the authorities that are trusted, instead of those of the system.
   */
  readonly ca?: string
  /**
   * The gateway's own certificate, with those between it and its authority.
   */
  readonly cert?: string
  /**
   * The private key of `cert`.
   */
  readonly key?: string
  /**
   * What `key` is encrypted with.
   */
  readonly passphrase?: string
}
/**
 * What the requests of some callers carry.
 */
export interface CallerKeyConfig {
  /**
   * Callers, as `<subject>` or `<issuer> <subject>`; subjects are globs, and `*` is everybody. A subject alone is that of an API key; without any keys, of a token of the only issuer.
   */
  readonly principals: string | readonly string[]
  /**
   * Headers of every request of theirs, which win over those of the upstream.
   */
  readonly headers: {
    readonly [k: string]: string
  }
  /**
   * Parameters of the URL of every request of theirs.
   */
  readonly query: {
    readonly [k: string]: string
  }
}
/**
 * How the gateway gets tokens for a server.
 */
export interface UpstreamOAuthConfig {
  /**
   * Where tokens come from. `code`: somebody logs in with a browser or a device code. `client-credentials`: the gateway's own id and secret or key. `workload`: a token in a file, such as that of a Kubernetes pod. `exchange`: the caller's own token is exchanged (RFC 8693). `id-jag`: the company's identity provider says who it is for (enterprise-managed authorization).
   */
  readonly grant: 'code' | 'client-credentials' | 'workload' | 'exchange' | 'id-jag'
  /**
   * Whose login is used. `gateway`: one for all callers. `caller`: each caller has one of their own, and shares neither connections, nor sessions, nor answers with others; callers must be authenticated then. Grants `exchange` and `id-jag` are always of the caller, unless `subject` names a file.
   */
  readonly account: 'gateway' | 'caller'
  readonly client?: OAuthClientConfig
  /**
   * Scopes that a login may ask for, at most; none beyond them is asked for by itself. Default: those that the server names.
   *
   * Items: A scope (RFC 6749, 3.3).
   */
  readonly scopes?: readonly string[]
  /**
   * The authorization server; overrides what the server names. Default: the first that the server names, else its own origin.
   */
  readonly issuer?: string
  /**
   * Grant `workload`: the file with the signed token of this workload, relative to the configuration. It is read anew for each request.
   */
  readonly assertionFile?: string
  /**
   * Grant `exchange`: the `audience` of the exchange, beside `resource`.
   */
  readonly audience?: string
  readonly identityProvider?: OAuthIdentityProviderConfig
  readonly subject?: OAuthSubjectConfig
}
/**
 * The gateway's identity at the authorization server. Default: a client metadata document where the server takes those and the gateway has a public URL, else dynamic registration.
 */
export interface OAuthClientConfig {
  /**
   * Its `client_id`. An https URL with a path is the address of a client metadata document, which is used where the authorization server takes those.
   */
  readonly id: string
  /**
   * Its secret.
   */
  readonly secret?: string
  /**
   * How it authenticates at the token endpoint. Default: `private_key_jwt` with a key; with a secret `client_secret_basic`, or `client_secret_post` where the server has only that; else `none`.
   */
  readonly method?: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  /**
   * Its private key as PKCS #8 PEM, in a file relative to the configuration.
   */
  readonly keyFile?: string
  /**
   * The `kid` of the key.
   */
  readonly keyId?: string
  /**
   * Signature algorithm of the key.
   */
  readonly algorithm: 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'Ed25519'
  /**
   * The authorization server that gave it. When the MCP server names another one, nobody is sent there with this identity.
   */
  readonly issuer?: string
}
/**
 * Grants `exchange` and `id-jag`: where the caller's token is exchanged. Without it, `exchange` asks the server's own authorization server.
 */
export interface OAuthIdentityProviderConfig {
  /**
   * Its issuer, to the letter.
   */
  readonly issuer: string
  /**
   * Its token endpoint. Default: what its metadata says.
   */
  readonly tokenEndpoint?: string
  readonly client?: OAuthClientConfig
}
/**
 * Grants `exchange` and `id-jag`: the token that says who it is for. Default: the access token with which the caller came.
 */
export interface OAuthSubjectConfig {
  /**
   * A file with the token, relative to the configuration; read anew for each exchange. All callers have one account then.
   */
  readonly file?: string
  /**
   * Its type.
   */
  readonly type: 'access_token' | 'id_token' | 'refresh_token' | 'jwt'
}
/**
 * A remote server reached over HTTP+SSE of protocol version 2024-11-05.
 */
export interface SseUpstreamConfig {
  /**
   * A server reached over HTTP+SSE.
   */
  readonly type: 'sse'
  /**
   * Its event stream.
   */
  readonly url: string
  /**
   * Parameters added to its URL in every request, such as a key that it wants there. They are secrets: a URL is shown without them.
   */
  readonly query?: {
    readonly [k: string]: string
  }
  /**
   * Headers sent with every request, such as credentials.
   */
  readonly headers: {
    readonly [k: string]: string
  }
  /**
   * The proxy that connections to it go through; `false` reaches it directly. Default: HTTPS_PROXY or HTTP_PROXY of the gateway's own environment, unless NO_PROXY names the server or it runs on this machine.
   */
  readonly proxy?: string | false
  readonly tls?: TlsConfig
  /**
   * Offers HTTP/2 to the server, over TLS; one that does not speak it gets HTTP/1.1.
   */
  readonly http2: boolean
  /**
   * Largest message accepted from it.
   */
  readonly maxReply: string | number
  /**
   * What the names of its tools and prompts begin with. Default: the upstream's name and two underscores; an empty string means none. Resource URIs are kept as they are.
   */
  readonly prefix?: string
  /**
   * `false` keeps the entry in the file and leaves it out of the gateway.
   */
  readonly enabled: boolean
  /**
   * How long it may take to start and shake hands.
   */
  readonly startupTimeout: string | number
  /**
   * What its absence means for lists: `omit` leaves its entries out and says so in the log, `keep` goes on with what it listed last, `fail` answers with an error.
   */
  readonly onFailure: 'omit' | 'keep' | 'fail'
  /**
   * HTTP+SSE is older than the modern era.
   */
  readonly era: 'legacy'
  /**
   * Who shares a connection to it (for `stdio`: a process): everyone (`shared`), or each client session (`session`) or caller (`principal`) on its own. A modern HTTP request is a session of its own unless it carries the listener's `sessionLabel`, so listeners offer legacy sessions where there is such an upstream (`eras`). A server that keeps state between calls may need the latter, and so may a legacy server on `stdio`, `sse` or `ws` that asks its clients a lot: where they share one, its calls that ask take turns. Lists always come from a connection that all share.
   */
  readonly isolation: 'shared' | 'session' | 'principal'
  /**
   * When it is started: with the gateway (`eager`), by the first who needs it (`lazy`), or with the gateway unless what it offers is known from before (`auto`).
   */
  readonly start: 'auto' | 'lazy' | 'eager'
  /**
   * After how long without a call its process or connection is ended; the next call starts it again. Never while a call is under way or somebody watches one of its resources. Default: never; connections of one session or caller (see `isolation`) end after 5 minutes.
   */
  readonly idle?: string | number
  readonly pool?: PoolConfig
  /**
   * How long one process or connection lives at most: then a fresh one is started, takes the new calls, and the old one ends with its last call. What it keeps in memory is lost. Default: for ever.
   */
  readonly maxLifetime?: string | number
  /**
   * What of its answers is kept, where that differs from `cache`; `false` keeps nothing.
   */
  readonly cache?: UpstreamCacheConfig | false
  readonly callers?: CallerKeysConfig
  /**
   * Headers of a caller's request that go on to this upstream, where the request has them; all others stay here. Callers, and requests whose values differ, share neither its sessions nor cached answers. Never credentials or what HTTP and MCP own.
   */
  readonly forwardHeaders?: readonly string[]
  readonly oauth?: UpstreamOAuthConfig
  readonly pins?: PinsMode
  /**
   * Rules of `policy` may believe what this server says of its tools: `upstream.trusted` in their expressions. It changes nothing else.
   */
  readonly trusted?: boolean
  /**
   * Words of your own for rules of `policy`: `"internal" in upstream.tags`.
   *
   * Items: A word.
   */
  readonly tags?: readonly string[]
  /**
   * How long a call may take, from its arrival and whatever it waits for, before the client gets an error; 0 means as long as it likes. Only a client that is asked something stops the time.
   */
  readonly timeout: string | number
  readonly limits: UpstreamLimitsConfig
  /**
   * When it is given a rest; `false` never. After a rest one call goes through as a probe: all others follow when it is answered, otherwise the next rest is longer.
   */
  readonly breaker: BreakerConfig | false
  /**
   * Which calls are made again when the server was unreachable, busy or broke off; `false` none. Lists, reads, prompts and completions are safe to repeat; tools only where you say so. Retries stay below one for every five calls.
   */
  readonly retry: RetryConfig | false
  readonly shape?: ShapeRule
  readonly tools?: ToolFilterConfig
  readonly prompts?: FilterConfig
  readonly resources?: ResourceFilterConfig
}
/**
 * A remote server reached over WebSocket.
 */
export interface WsUpstreamConfig {
  /**
   * A server reached over WebSocket.
   */
  readonly type: 'ws'
  /**
   * Its MCP endpoint.
   */
  readonly url: string
  /**
   * Parameters added to its URL in every request, such as a key that it wants there. They are secrets: a URL is shown without them.
   */
  readonly query?: {
    readonly [k: string]: string
  }
  /**
   * Headers sent when it connects, such as credentials.
   */
  readonly headers: {
    readonly [k: string]: string
  }
  /**
   * The proxy that connections to it go through; `false` reaches it directly. Default: HTTPS_PROXY or HTTP_PROXY of the gateway's own environment, unless NO_PROXY names the server or it runs on this machine.
   */
  readonly proxy?: string | false
  readonly tls?: TlsConfig
  /**
   * Largest message accepted from it.
   */
  readonly maxReply: string | number
  /**
   * What the names of its tools and prompts begin with. Default: the upstream's name and two underscores; an empty string means none. Resource URIs are kept as they are.
   */
  readonly prefix?: string
  /**
   * `false` keeps the entry in the file and leaves it out of the gateway.
   */
  readonly enabled: boolean
  /**
   * How long it may take to start and shake hands.
   */
  readonly startupTimeout: string | number
  /**
   * What its absence means for lists: `omit` leaves its entries out and says so in the log, `keep` goes on with what it listed last, `fail` answers with an error.
   */
  readonly onFailure: 'omit' | 'keep' | 'fail'
  /**
   * Protocol era it is spoken to in: `legacy` (initialize handshake, up to 2025-11-25), `modern` (2026-07-28), `auto` to find out (modern, where it speaks both), or `match` for the same, but that a legacy client that can be asked for something (elicitation, sampling, roots) is spoken for in its own era at a server of both, as tools written for that era ask there alone. That is a second connection, opened by the first such call; for `stdio` a second process, which knows nothing of what the first one keeps in memory.
   */
  readonly era: 'match' | 'auto' | 'legacy' | 'modern'
  /**
   * Who shares a connection to it (for `stdio`: a process): everyone (`shared`), or each client session (`session`) or caller (`principal`) on its own. A modern HTTP request is a session of its own unless it carries the listener's `sessionLabel`, so listeners offer legacy sessions where there is such an upstream (`eras`). A server that keeps state between calls may need the latter, and so may a legacy server on `stdio`, `sse` or `ws` that asks its clients a lot: where they share one, its calls that ask take turns. Lists always come from a connection that all share.
   */
  readonly isolation: 'shared' | 'session' | 'principal'
  /**
   * When it is started: with the gateway (`eager`), by the first who needs it (`lazy`), or with the gateway unless what it offers is known from before (`auto`).
   */
  readonly start: 'auto' | 'lazy' | 'eager'
  /**
   * After how long without a call its process or connection is ended; the next call starts it again. Never while a call is under way or somebody watches one of its resources. Default: never; connections of one session or caller (see `isolation`) end after 5 minutes.
   */
  readonly idle?: string | number
  readonly pool?: PoolConfig
  /**
   * How long one process or connection lives at most: then a fresh one is started, takes the new calls, and the old one ends with its last call. What it keeps in memory is lost. Default: for ever.
   */
  readonly maxLifetime?: string | number
  /**
   * What of its answers is kept, where that differs from `cache`; `false` keeps nothing.
   */
  readonly cache?: UpstreamCacheConfig | false
  readonly callers?: CallerKeysConfig
  readonly oauth?: UpstreamOAuthConfig
  readonly pins?: PinsMode
  /**
   * Rules of `policy` may believe what this server says of its tools: `upstream.trusted` in their expressions. It changes nothing else.
   */
  readonly trusted?: boolean
  /**
   * Words of your own for rules of `policy`: `"internal" in upstream.tags`.
   *
   * Items: A word.
   */
  readonly tags?: readonly string[]
  /**
   * How long a call may take, from its arrival and whatever it waits for, before the client gets an error; 0 means as long as it likes. Only a client that is asked something stops the time.
   */
  readonly timeout: string | number
  readonly limits: UpstreamLimitsConfig
  /**
   * When it is given a rest; `false` never. After a rest one call goes through as a probe: all others follow when it is answered, otherwise the next rest is longer.
   */
  readonly breaker: BreakerConfig | false
  /**
   * Which calls are made again when the server was unreachable, busy or broke off; `false` none. Lists, reads, prompts and completions are safe to repeat; tools only where you say so. Retries stay below one for every five calls.
   */
  readonly retry: RetryConfig | false
  readonly shape?: ShapeRule
  readonly tools?: ToolFilterConfig
  readonly prompts?: FilterConfig
  readonly resources?: ResourceFilterConfig
}
/**
 * An HTTP API that speaks no MCP: each operation of its OpenAPI document is a tool.
 */
export interface OpenApiUpstreamConfig {
  /**
   * An HTTP API with an OpenAPI document.
   */
  readonly type: 'openapi'
  /**
   * Its OpenAPI document, 2.0, 3.0 or 3.1, as JSON or YAML: a file relative to the configuration, or an http or https URL.
   */
  readonly document: string
  /**
   * URL that its paths are appended to. Default: the first server of the document, if that is at the origin that the document came from or, for a file, public and reached by https; any other must be written here.
   */
  readonly server?: string
  readonly operations?: OpenApiOperations
  /**
   * Credentials by the names of the document's security schemes: the key of an `apiKey`, the token of a `bearer`, `oauth2` or `openIdConnect`, `user:password` of a `basic`. They go along where an operation wants that scheme.
   */
  readonly security: {
    readonly [k: string]: string
  }
  /**
   * Headers sent with every call, such as credentials.
   */
  readonly headers: {
    readonly [k: string]: string
  }
  /**
   * Parameters sent with every call, such as a key. They are secrets.
   */
  readonly query: {
    readonly [k: string]: string
  }
  /**
   * Whether tools say what their results look like. Off makes lists shorter.
   */
  readonly outputSchemas: boolean
  /**
   * The proxy that connections to it go through; `false` reaches it directly. Default: HTTPS_PROXY or HTTP_PROXY of the gateway's own environment, unless NO_PROXY names the server or it runs on this machine.
   */
  readonly proxy?: string | false
  readonly tls?: TlsConfig
  /**
   * Offers HTTP/2 to the server, over TLS; one that does not speak it gets HTTP/1.1.
   */
  readonly http2: boolean
  /**
   * Largest reply accepted from it.
   */
  readonly maxReply: string | number
  /**
   * Largest document that is read.
   */
  readonly maxDocument: string | number
  /**
   * What the names of its tools and prompts begin with. Default: the upstream's name and two underscores; an empty string means none. Resource URIs are kept as they are.
   */
  readonly prefix?: string
  /**
   * `false` keeps the entry in the file and leaves it out of the gateway.
   */
  readonly enabled: boolean
  /**
   * How long it may take to start and shake hands.
   */
  readonly startupTimeout: string | number
  /**
   * What its absence means for lists: `omit` leaves its entries out and says so in the log, `keep` goes on with what it listed last, `fail` answers with an error.
   */
  readonly onFailure: 'omit' | 'keep' | 'fail'
  /**
   * When it is started: with the gateway (`eager`), by the first who needs it (`lazy`), or with the gateway unless what it offers is known from before (`auto`).
   */
  readonly start: 'auto' | 'lazy' | 'eager'
  /**
   * Whom its answers may be kept for in a cache: everyone (`shared`), or each caller on its own (`principal`).
   */
  readonly isolation: 'shared' | 'principal'
  /**
   * What of its answers is kept, where that differs from `cache`; `false` keeps nothing.
   */
  readonly cache?: UpstreamCacheConfig | false
  readonly callers?: CallerKeysConfig
  readonly oauth?: UpstreamOAuthConfig
  readonly pins?: PinsMode
  /**
   * Rules of `policy` may believe what this server says of its tools: `upstream.trusted` in their expressions. It changes nothing else.
   */
  readonly trusted?: boolean
  /**
   * Words of your own for rules of `policy`: `"internal" in upstream.tags`.
   *
   * Items: A word.
   */
  readonly tags?: readonly string[]
  /**
   * How long a call may take, from its arrival and whatever it waits for, before the client gets an error; 0 means as long as it likes. Only a client that is asked something stops the time.
   */
  readonly timeout: string | number
  readonly limits: UpstreamLimitsConfig
  /**
   * When it is given a rest; `false` never. After a rest one call goes through as a probe: all others follow when it is answered, otherwise the next rest is longer.
   */
  readonly breaker: BreakerConfig | false
  /**
   * Which calls are made again when the server was unreachable, busy or broke off; `false` none. Lists, reads, prompts and completions are safe to repeat; tools only where you say so. Retries stay below one for every five calls.
   */
  readonly retry: RetryConfig | false
  readonly shape?: ShapeRule
  readonly tools?: ToolFilterConfig
  readonly prompts?: FilterConfig
  readonly resources?: ResourceFilterConfig
}
/**
 * Operations that become tools. Globs fit the name of a tool, or the method and path of its operation such as `GET /pets/*`.
 */
export interface OpenApiOperations {
  /**
   * Globs for those that do. Default: all.
   */
  readonly allow?: readonly string[]
  /**
   * Globs for those that do not, whatever `allow` says.
   */
  readonly deny?: readonly string[]
  /**
   * Tags of which one must be among an operation's. Default: any.
   */
  readonly tags?: readonly string[]
}
/**
 * A plugin: where it comes from and its options.
 */
export interface PluginConfig {
  /**
   * A path relative to the configuration file (`.ts` or `.js`), or an npm package.
   */
  readonly use: string
  /**
   * Its options, checked by the plugin's own schema.
   */
  readonly options: {
    readonly [k: string]: unknown
  }
  /**
   * `false` keeps the entry in the file and leaves it out of the gateway.
   */
  readonly enabled: boolean
}
/**
 * Keeps the calls of the last days in a SQLite file, for `gateway activity` and `gateway usage`: who called what, what came of it, how long it took and how large it was. Of arguments only names and types are kept.
 */
export interface ActivityConfig {
  /**
   * The file, relative to the configuration; made with mode 0600. Several processes and gateways may write to one.
   */
  readonly file: string
  /**
   * How long a call is kept; 24 days at most.
   */
  readonly keep: string | number
  /**
   * How many calls are kept; the oldest go.
   */
  readonly maxCalls: number
  /**
   * How large the file may be. When it is full, the oldest tenth of the calls goes.
   */
  readonly maxSize: string | number
  /**
   * Methods whose requests are kept, as globs.
   */
  readonly methods: string | readonly string[]
  /**
   * Tools and prompts, by the names clients use, of which arguments are kept as they are, up to 8 KiB, secrets of the configuration hidden.
   */
  readonly values?: string | readonly string[]
  /**
   * How long a call waits for others, to be written with them.
   */
  readonly every: string | number
}
/**
 * Coding agents that speak the Agent Client Protocol, offered to clients as tools: `delegate_task` gives one of them work.
 */
export interface AgentsConfig {
  /**
   * The agents, by id.
   */
  readonly list: {
    readonly [k: string]: AgentConfig
  }
  readonly defaults?: AgentSettingsConfig
  readonly registry?: AgentRegistryConfig
  /**
   * Globs that the real path of an agent's program must match, links followed. Without it the programs of `list` may run; those of a registry file never run without it.
   */
  readonly commands?: readonly string[]
  /**
   * Directories that a task may work in, relative to the configuration; links are followed. The first one is where a task works that names no directory. Without it each task works in an empty directory of its own, in the state directory, and can name neither `cwd` nor `files`. The gateway's own files are for no agent, wherever they lie.
   */
  readonly roots?: readonly string[]
  readonly routing?: AgentRoutingConfig
  readonly tasks?: AgentTasksConfig
  /**
   * Most agent processes at a time, over all agents.
   */
  readonly processes: number
  /**
   * What stands before the names of the tools. Default: nothing.
   */
  readonly prefix: string
}
/**
 * One agent: a program that speaks the Agent Client Protocol on stdin and stdout.
 */
export interface AgentConfig {
  /**
   * Its program: a path, or a name on the PATH. Never run in a shell.
   */
  readonly command: string
  /**
   * Its arguments, each one a string of its own.
   */
  readonly args: readonly string[]
  /**
   * Whether it takes part.
   */
  readonly enabled: boolean
  /**
   * What people call it.
   */
  readonly title?: string
  /**
   * What it is good at, for whoever chooses.
   */
  readonly description?: string
  /**
   * What it can do, in words of your own; a task that wants one goes only to agents that have it.
   */
  readonly capabilities: readonly string[]
  /**
   * Which one is preferred where nothing else decides: the higher one.
   */
  readonly priority: number
  readonly auth?: AgentAuthConfig
  /**
   * Variables set for the agent. `HOME` is a directory of its own unless it is set here.
   */
  readonly env?: {
    readonly [k: string]: string
  }
  /**
   * Variables of the gateway's own environment that the agent gets besides those for certificates and proxies; all others are kept from it. Default: `PATH`, `LANG`, `TZ`.
   */
  readonly inheritEnv?: readonly string[]
  /**
   * The mode that each session is set to, by the agent's own id for it: where the agent asks, and what it may do.
   */
  readonly mode?: string
  /**
   * The model that each session is set to, by the agent's own id for it.
   */
  readonly model?: string
  /**
   * Other options of each session, by the agent's own ids.
   */
  readonly options?: {
    readonly [k: string]: string | boolean
  }
  readonly limits?: AgentLimitsConfig
  readonly timeouts?: AgentTimeoutsConfig
  readonly pool?: AgentPoolConfig
  readonly permissions?: AgentPermissionsConfig
  readonly output?: AgentOutputConfig
  readonly client?: AgentClientConfig
  /**
   * Which of the gateway's own tools the agent may call back over MCP; `true` is all that its caller sees, `false` is none, and the default.
   */
  readonly callback?: AgentCallbackConfig | boolean
  /**
   * `none`: it works in the directory of the task. `worktree`: in a git worktree of its own, whose changes are the `diff` of the result. Default `none`.
   */
  readonly isolation?: 'none' | 'worktree'
  /**
   * Runs it in a sandbox of bubblewrap (Linux; `bwrap` must be installed). `bwrap` alone means all defaults; the directory of the task and its HOME can always be written.
   */
  readonly sandbox?: SandboxConfig | 'bwrap'
  readonly ceilings?: CeilingsConfig
}
/**
 * How the agent is told who pays. Without it the agent finds its own login in its HOME or environment.
 */
export interface AgentAuthConfig {
  /**
   * Id of the method for `authenticate`, as the agent names it. A method that needs a terminal is never started.
   */
  readonly method?: string
  /**
   * What is sent along with it as `_meta`.
   */
  readonly meta?: {
    readonly [k: string]: unknown
  }
  readonly provider?: AgentProviderConfig
}
/**
 * A model provider set by `providers/set`, so that no key is in the environment.
 */
export interface AgentProviderConfig {
  /**
   * The agent's own id of the provider.
   */
  readonly id: string
  /**
   * The kind of API behind it.
   */
  readonly api: string
  /**
   * Where it is.
   */
  readonly url: string
  /**
   * Headers of each request to it.
   */
  readonly headers: {
    readonly [k: string]: string
  }
}
/**
 * How much work an agent gets. What is counted per minute and day is kept on disk.
 */
export interface AgentLimitsConfig {
  /**
   * Most turns begun in any 60 seconds. Default: no limit.
   */
  readonly perMinute?: number
  /**
   * Most turns begun in a day (UTC); a restart forgets nothing. Default: no limit.
   */
  readonly perDay?: number
  /**
   * Most tasks at a time. Default 2.
   */
  readonly concurrent?: number
  /**
   * Tasks that may wait. A caller of whom none waits finds a place beyond them, up to as many again. Default 16.
   */
  readonly queue?: number
  /**
   * How long one waits at most. Default 60s.
   */
  readonly queueTimeout?: string | number
  /**
   * What happens to a task that meets a limit: `fallback` – the next agent that fits; `queue` – it waits; `reject` – an error that says when to come back. Default `fallback`.
   */
  readonly onLimit?: 'fallback' | 'queue' | 'reject'
}
/**
 * How long each phase may take; what takes longer ends the process, and says which phase it was.
 */
export interface AgentTimeoutsConfig {
  /**
   * From the start of the process to its answer to `initialize`. Default 30s.
   */
  readonly initialize?: string | number
  /**
   * A session made, loaded or resumed. Default 60s.
   */
  readonly session?: string | number
  /**
   * From the prompt to the first sign of life. Default 2m.
   */
  readonly firstUpdate?: string | number
  /**
   * Between two signs of life. Default 10m.
   */
  readonly idle?: string | number
  /**
   * The whole turn. Default 30m.
   */
  readonly turn?: string | number
  /**
   * From a cancellation to the end of the turn; then the process is ended. Default 10s.
   */
  readonly cancel?: string | number
}
/**
 * Processes that are kept for the next task.
 */
export interface AgentPoolConfig {
  /**
   * Processes started ahead. Default 0.
   */
  readonly warm?: number
  /**
   * Most processes of this agent. Default 2.
   */
  readonly processes?: number
  /**
   * Most sessions in one process at a time. Default 4.
   */
  readonly sessions?: number
  /**
   * How long a process without a task is kept. Default 5m.
   */
  readonly idle?: string | number
  /**
   * How long a process is used. Default 4h.
   */
  readonly maxAge?: string | number
  /**
   * Turns after which a process is replaced. Default 50.
   */
  readonly maxTurns?: number
  /**
   * Memory of a process with all it started, beyond which it is replaced. Default 1500MiB.
   */
  readonly maxMemory?: string | number
}
/**
 * What an agent may do when it asks. The first rule that fits decides; `always` is never granted.
 */
export interface AgentPermissionsConfig {
  /**
   * Rules in order.
   */
  readonly rules?: readonly AgentPermissionRuleConfig[]
  /**
   * What is done where no rule fits. Default `deny`.
   */
  readonly default?: 'allow' | 'deny' | 'ask'
  /**
   * How long an answer of the caller is waited for; then it is denied. Default 5m.
   */
  readonly askTimeout?: string | number
}
/**
 * One rule: it fits when everything it says is true.
 */
export interface AgentPermissionRuleConfig {
  /**
   * Kinds of tool call, in the words of the protocol.
   */
  readonly kinds?: (
    'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other'
  )[]
  /**
   * Globs that the whole command line of an `execute` must match. Where the rule allows, `*` stands for no shell operator such as `;`, `|` or `$`.
   */
  readonly commands?: readonly string[]
  /**
   * Where all files it is about must be: `cwd`, or a directory, relative to the configuration. A command fits only in a rule that has `commands` too.
   */
  readonly within?: string
  /**
   * Globs that the title of the tool call must match.
   */
  readonly titles?: string | readonly string[]
  /**
   * `allow` this once, `deny` this once, or `ask` the caller.
   */
  readonly do: 'allow' | 'deny' | 'ask'
}
/**
 * How much of what an agent says is kept and given.
 */
export interface AgentOutputConfig {
  /**
   * Text in the result of a call; the rest is paged by `agent_result`. Default 64KiB.
   */
  readonly inline?: string | number
  /**
   * Text kept of one task; what is beyond is cut, and said. Default 8MiB.
   */
  readonly keep?: string | number
  /**
   * Longest message of the agent. Default 32MiB.
   */
  readonly maxLine?: string | number
  /**
   * Events kept of one task: tool calls, plans, permissions. Default 500.
   */
  readonly events?: number
  /**
   * Whether thoughts are among the events. Default false.
   */
  readonly thoughts?: boolean
}
/**
 * What the gateway does for the agent when asked, inside the directory of the task. It does not bind the agent's own tools.
 */
export interface AgentClientConfig {
  /**
   * `fs/read_text_file`. Default false.
   */
  readonly readFiles?: boolean
  /**
   * `fs/write_text_file`. Default false.
   */
  readonly writeFiles?: boolean
  /**
   * `terminal/*`: `false`, and the default, is none; a map says which programs may run.
   */
  readonly terminal?: AgentTerminalConfig | false
  /**
   * Largest file that is read or written. Default 4MiB.
   */
  readonly maxFile?: string | number
}
/**
 * Programs that an agent may run through the gateway. An agent that runs everything in a shell needs that shell here, and is then not bound at all.
 */
export interface AgentTerminalConfig {
  /**
   * Globs that the real path of the program must match, links followed.
   */
  readonly commands: readonly string[]
  /**
   * Most terminals of one task at a time. Default 4.
   */
  readonly max?: number
  /**
   * How long a program may run. Default 10m.
   */
  readonly timeout?: string | number
  /**
   * Most output kept; what is older is dropped. Default 1MiB.
   */
  readonly output?: string | number
}
/**
 * The gateway as an MCP server of the agent: for each session a token that lives as long as the task and knows its depth.
 */
export interface AgentCallbackConfig {
  /**
   * Tools that the agent sees, by the names that clients see, among those of the caller of the task.
   */
  readonly tools: readonly string[]
  /**
   * How deep a delegated task may delegate: at this depth `delegate_task` is hidden. 0 hides it from every agent.
   */
  readonly maxDepth: number
  /**
   * Tasks that one task may begin, with all that those begin.
   */
  readonly maxTasks: number
}
/**
 * What may be said of one agent, and in `defaults` of all.
 */
export interface AgentSettingsConfig {
  /**
   * Variables set for the agent. `HOME` is a directory of its own unless it is set here.
   */
  readonly env?: {
    readonly [k: string]: string
  }
  /**
   * Variables of the gateway's own environment that the agent gets besides those for certificates and proxies; all others are kept from it. Default: `PATH`, `LANG`, `TZ`.
   */
  readonly inheritEnv?: readonly string[]
  /**
   * The mode that each session is set to, by the agent's own id for it: where the agent asks, and what it may do.
   */
  readonly mode?: string
  /**
   * The model that each session is set to, by the agent's own id for it.
   */
  readonly model?: string
  /**
   * Other options of each session, by the agent's own ids.
   */
  readonly options?: {
    readonly [k: string]: string | boolean
  }
  readonly limits?: AgentLimitsConfig
  readonly timeouts?: AgentTimeoutsConfig
  readonly pool?: AgentPoolConfig
  readonly permissions?: AgentPermissionsConfig
  readonly output?: AgentOutputConfig
  readonly client?: AgentClientConfig
  /**
   * Which of the gateway's own tools the agent may call back over MCP; `true` is all that its caller sees, `false` is none, and the default.
   */
  readonly callback?: AgentCallbackConfig | boolean
  /**
   * `none`: it works in the directory of the task. `worktree`: in a git worktree of its own, whose changes are the `diff` of the result. Default `none`.
   */
  readonly isolation?: 'none' | 'worktree'
  /**
   * Runs it in a sandbox of bubblewrap (Linux; `bwrap` must be installed). `bwrap` alone means all defaults; the directory of the task and its HOME can always be written.
   */
  readonly sandbox?: SandboxConfig | 'bwrap'
  readonly ceilings?: CeilingsConfig
}
/**
 * Agents from a file in the format of the ACP registry. It is read from disk, never fetched.
 */
export interface AgentRegistryConfig {
  /**
   * The file, relative to the configuration.
   */
  readonly file: string
  /**
   * Ids of the agents that take part; none else do.
   */
  readonly use: readonly string[]
}
/**
 * Which agent gets a task that names none.
 */
export interface AgentRoutingConfig {
  /**
   * Rules in order, those with a higher `priority` first; the first that fits says who is preferred.
   */
  readonly rules: readonly AgentRoutingRuleConfig[]
  /**
   * Who is preferred where no rule fits; the others come after them, by priority.
   *
   * Items: A name: a lower-case letter, then up to 31 lower-case letters, digits and hyphens.
   */
  readonly default: readonly string[]
}
/**
 * One rule: it fits when everything it says is true.
 */
export interface AgentRoutingRuleConfig {
  /**
   * Its name in explanations. Default: its number.
   */
  readonly id?: string
  /**
   * The task has one of these types.
   */
  readonly taskTypes?: readonly string[]
  /**
   * The prompt has one of these words; with `re:` in front a regular expression. Case does not count.
   */
  readonly keywords?: readonly string[]
  /**
   * Only tasks of these callers, as `<subject>` or `<issuer> <subject>`; subjects are globs. A subject alone is that of an API key; without any keys, of a token of the only issuer.
   */
  readonly principals?: string | readonly string[]
  /**
   * Agents in order of preference.
   *
   * Items: A name: a lower-case letter, then up to 31 lower-case letters, digits and hyphens.
   */
  readonly prefer: readonly string[]
  /**
   * Rules with a higher one are looked at first; those with the same in their order. Default 0.
   */
  readonly priority?: number
  /**
   * Whether nobody but those preferred may have it.
   */
  readonly only: boolean
}
/**
 * Where tasks are kept, and how long.
 */
export interface AgentTasksConfig {
  /**
   * The database, relative to the configuration. Default: `agents.db` in the state directory; without one, memory, and a restart forgets all.
   */
  readonly file?: string
  /**
   * How long a task is kept after its end. Default 7d.
   */
  readonly ttl?: string | number
  /**
   * Most tasks kept; the oldest that have ended go first, and with none of those a new one is refused.
   */
  readonly max: number
  /**
   * Most tasks of one caller that have not ended.
   */
  readonly maxPerCaller: number
  /**
   * Whether prompts are kept. Without them a task that was interrupted cannot be begun anew.
   */
  readonly keepPrompt: boolean
}
/**
 * Who decides about calls that a rule of `policy.ask` holds. Whoever decides first counts, once, for this very call; silence refuses.
 */
export interface ApproveConfig {
  /**
   * Ways of asking: `client` a form in the client that calls, `owner` the command `gateway approvals`, `webhook` a request to a program of yours. A client's model may answer its own forms: where that counts, leave `client` out.
   *
   * Items: A way.
   */
  readonly by: ('client' | 'owner' | 'webhook')[]
  /**
   * How long a call waits for a decision; ten minutes at most.
   */
  readonly ttl: string | number
  /**
   * Most calls that wait at a time.
   */
  readonly open: number
  /**
   * Most calls of one caller that wait at a time.
   */
  readonly openPerCaller: number
  readonly webhook?: ApproveWebhookConfig
}
/**
 * A program of yours that is told of each call that waits. It may decide in its answer, or later.
 */
export interface ApproveWebhookConfig {
  /**
   * Where it is told, by POST.
   */
  readonly url: string
  /**
   * Secret that signs what is said both ways (HMAC-SHA256).
   */
  readonly secret: string
  /**
   * Path on the HTTP listeners where it decides later, by a signed POST. Where `auth` is on, it needs a key too, or the path in `auth.except`.
   */
  readonly callback?: string
}
/**
 * Writes one JSON line per call: who called what, through which server, what came of it, how long it took, and the shape of its arguments.
 */
export interface AuditConfig {
  /**
   * Where lines are appended, relative to the configuration file; made with mode 0600. `{pid}` becomes the process id, for configurations that several gateways run at a time. Without it lines go to stderr.
   */
  readonly file?: string
  /**
   * A file that is larger is renamed to `<file>.1`, and a new one is begun.
   */
  readonly maxSize: string | number
  /**
   * How many renamed files are kept; the oldest goes.
   */
  readonly keep: number
  /**
   * Methods of which each request is a line, as globs.
   */
  readonly methods: string | readonly string[]
  /**
   * Tools and prompts, by the names clients use, of which arguments are written as they are, up to 8 KiB. Of all others only names, types and lengths are.
   */
  readonly values?: string | readonly string[]
  /**
   * Session ids as a hash, or as they are. Who knows the id of a session without authentication can use it.
   */
  readonly sessions: 'hash' | 'plain'
  /**
   * Whether each line carries a SHA-256 over itself and the line before, for `gateway audit verify`. One process writes such a file at a time.
   */
  readonly chain: boolean
  /**
   * While lines cannot be written, because a disk is full for instance: answer all the same and count what is lost, or refuse what would be a line.
   */
  readonly onFailure: 'continue' | 'refuse'
}
/**
 * Who may come in over HTTP, and what for. Callers send an API key or a JWT with every request, or have a certificate.
 */
export interface AuthConfig {
  /**
   * API keys, hashed. `gateway key new` makes one.
   */
  readonly keys?: readonly ApiKeyConfig[]
  /**
   * A file with more keys, relative to the configuration: on each line a name, a hash, then scopes. Read again at each reload.
   */
  readonly keysFile?: string
  /**
   * Header that carries an API key, besides `Authorization: Bearer`.
   */
  readonly keyHeader: string
  /**
   * Issuers whose tokens are accepted.
   */
  readonly jwt?: readonly JwtIssuerConfig[]
  /**
   * Authorities whose client certificates say who a caller is, on listeners with `tls.clientCa`. A key or a token in a request counts instead of the certificate.
   */
  readonly certificates?: readonly CertificateIssuerConfig[]
  /**
   * Scopes that a scope brings along, for callers of every kind: who may write may read.
   */
  readonly implies: {
    /**
     * Items: A scope (RFC 6749): no spaces and no quotes.
     */
    readonly [k: string]: readonly string[]
  }
  /**
   * URL of the MCP endpoint as clients know it, which tokens must be made for. Default: the path of the listener below its `publicUrl`, else the URL that it is bound to.
   */
  readonly resource?: string
  /**
   * HTTP listeners that ask who is there. Default: all of them. A stdio listener is local and never asks.
   */
  readonly listeners?: readonly string[]
  /**
   * Paths that anybody may use, such as one for metrics.
   */
  readonly except: readonly string[]
  /**
   * Who may use what. Every rule that matches must be met; what no rule matches is for every verified caller.
   */
  readonly rules: readonly AccessRuleConfig[]
}
/**
 * One API key.
 */
export interface ApiKeyConfig {
  /**
   * Name of the key.
   */
  readonly name: string
  /**
   * SHA-256 of the key. The key itself is stored nowhere.
   */
  readonly hash: string
  /**
   * What it may do, in the words of `rules`.
   *
   * Items: A scope (RFC 6749): no spaces and no quotes.
   */
  readonly scopes: readonly string[]
  /**
   * Who its holder is. Default: the name. Keys of one principal share their sessions, limits and tasks.
   */
  readonly principal?: string
}
/**
 * An issuer of tokens, and what its tokens must be.
 */
export interface JwtIssuerConfig {
  /**
   * Its `iss`, to the letter.
   */
  readonly issuer: string
  /**
   * Its public keys: an https URL (http on loopback), or a file relative to the configuration.
   */
  readonly jwks: string
  /**
   * What its tokens must be made for; every audience of a token must be listed. Default: `resource`.
   */
  readonly audience?: readonly string[]
  /**
   * Signature algorithms that are accepted. There are none with shared secrets.
   */
  readonly algorithms: (
    | 'RS256'
    | 'RS384'
    | 'RS512'
    | 'PS256'
    | 'PS384'
    | 'PS512'
    | 'ES256'
    | 'ES384'
    | 'ES512'
    | 'EdDSA'
    | 'Ed25519'
  )[]
  /**
   * How far clocks may differ; at most a minute.
   */
  readonly leeway: string | number
  /**
   * How old a token may be, whatever its `exp` says; needs `iat`.
   */
  readonly maxAge?: string | number
  /**
   * Claims that a token must have, besides `iss`, `aud`, `exp` and `sub`.
   */
  readonly requires: readonly string[]
  /**
   * The `typ` that a token must say in its header, such as `at+jwt` (RFC 9068).
   */
  readonly type?: string
}
/**
 * An authority, and whose certificates of it are accepted.
 */
export interface CertificateIssuerConfig {
  /**
   * Name of the authority, to the letter, as `openssl x509 -noout -issuer -nameopt RFC2253` prints it for a certificate that it signed.
   */
  readonly issuer: string
  /**
   * Names of those who may come in, in the same form.
   */
  readonly subjects: string | readonly string[]
  /**
   * Scopes that they have. A caller whom several entries fit has those of all.
   *
   * Items: A scope (RFC 6749): no spaces and no quotes.
   */
  readonly scopes: readonly string[]
}
/**
 * What it is about, and who may use that. Without tools, prompts or resources it is about everything; names are those that clients see.
 */
export interface AccessRuleConfig {
  /**
   * Only what these upstreams offer.
   */
  readonly upstreams?: string | readonly string[]
  /**
   * Tools.
   */
  readonly tools?: string | readonly string[]
  /**
   * Prompts.
   */
  readonly prompts?: string | readonly string[]
  /**
   * URIs of resources, and templates.
   */
  readonly resources?: string | readonly string[]
  /**
   * Scopes that the caller must have, all of them. Without them the caller gets 403 with the scopes to ask for.
   *
   * Items: A scope (RFC 6749): no spaces and no quotes.
   */
  readonly scopes?: readonly string[]
  /**
   * Callers that may, as `<subject>` or `<issuer> <subject>`; subjects are globs. A subject alone is that of an API key; without any keys, of a token of the only issuer. To others it does not exist.
   */
  readonly principals?: string | readonly string[]
}
/**
 * What is kept, for how long, and how much of it. A server's own `ttlMs` is honoured up to these times.
 */
export interface CacheConfig {
  /**
   * How long lists are kept: a time, or a policy. A server that announces changes is believed at once.
   */
  readonly lists: CachePolicyConfig | (string | number)
  /**
   * How long what was read is kept: a time, or a policy. Without it nothing is.
   */
  readonly resources?: CachePolicyConfig | (string | number)
  /**
   * How long prompts are kept: a time, or a policy. Without it none is.
   */
  readonly prompts?: CachePolicyConfig | (string | number)
  /**
   * Rules for tools, by a glob over the names that clients call (with prefix, before any rename); the first that matches counts. Only what a rule names is kept.
   */
  readonly tools?: {
    readonly [k: string]: CacheToolConfig | string | number
  }
  /**
   * How long a list that could not be asked for is not asked for again, so that not everybody waits for the same nothing. What a server answers with an error is never remembered.
   */
  readonly negative: string | number
  /**
   * Answers kept at once; the least recently used one goes first.
   */
  readonly maxEntries: number
  /**
   * Memory for all of them.
   */
  readonly maxBytes: string | number
  /**
   * Whether replicas share what they keep, in the Redis of `cluster`: what one has asked of a server, the others need not ask. `true`, or its bounds. Each goes on with its own memory where Redis is away or slow. Off where it is not given.
   */
  readonly shared?: CacheSharedConfig | boolean
  /**
   * Whether results under a rule say in `_meta["io.tapgate/cache"]` what the cache did: `hit`, `stale` or `miss`, and their age. Lists say how long they hold instead.
   */
  readonly meta: boolean
}
/**
 * Bounds of what replicas share.
 */
export interface CacheSharedConfig {
  /**
   * Largest answer that is shared. What is larger than 256 KiB when it is sealed, about 180 KiB of text, never is.
   */
  readonly maxEntry: string | number
  /**
   * How long a call waits for Redis at most before its server is asked.
   */
  readonly wait: string | number
}
/**
 * Other replicas of this gateway on other machines, behind any load balancer, with a Redis that all of them reach. They need the same `cluster.redis`, `cluster.keys` and `cluster.name`. Needs the package `@redis/client`.
 */
export interface ClusterConfig {
  /**
   * What replicas of one gateway have in common, and other gateways on the same Redis have not.
   */
  readonly name: string
  /**
   * A Redis 7.0 or newer: its URL (`redis://`, or `rediss://` for TLS), or a map that says more: where sentinels or the nodes of a Redis Cluster are, who logs in, and whom to trust.
   */
  readonly redis: ClusterRedisConfig | string
  /**
   * The key ring: the first seals and signs, all open. To rotate, add the new key as the last one everywhere, then put it first everywhere, then take the old one out.
   */
  readonly keys: {
    /**
     * Name of the key, which stands in what it signs.
     */
    readonly id: string
    /**
     * At least 32 random bytes as base64 or hex: `openssl rand -base64 32`.
     */
    readonly key: string
  }[]
  /**
   * Address and port where other replicas hand requests on to this one, as `host:port`. Bearer tokens travel there: set `tls` where it is not on loopback, or keep it on a network of the replicas alone; never put it behind the load balancer.
   */
  readonly listen: string
  /**
   * How others reach `cluster.listen`, as `host:port`. Needed where that listens on every address; else it is that one.
   */
  readonly address?: string
  /**
   * Where the last events of a session's streams are kept, for a client that comes back with `Last-Event-ID`: in the `memory` of the replica that has the session, or in `redis` too, so that the replica that goes on with the session has them. That costs a command of Redis for each event of a stream that a client can come back to; answers that are no stream cost nothing.
   */
  readonly events: 'memory' | 'redis'
  /**
   * TLS between replicas, where each shows the other a certificate. Files are PEM, relative to the configuration file, and read again at each reload. All replicas have it, or none.
   */
  readonly tls?: {
    /**
     * The certificate of this replica, for servers and for clients. Its alternative names have `cluster.name`, or the host of `cluster.address`.
     */
    readonly cert: string
    /**
     * The private key of `cert`.
     */
    readonly key: string
    /**
     * What `key` is encrypted with.
     */
    readonly passphrase?: string
    /**
     * The authority whose certificates are those of replicas; it may have certified others too.
     */
    readonly ca: string
  }
}
/**
 * A Redis of replicas: one of `url`, `sentinels` and `nodes`.
 */
export interface ClusterRedisConfig {
  /**
   * URL of one Redis: `redis://`, or `rediss://` for TLS.
   */
  readonly url?: string
  /**
   * Sentinels as `host:port`; the first that answers says which Redis is the master. After a failover its replies are followed within some seconds.
   */
  readonly sentinels?: readonly string[]
  /**
   * Name of the master, as the sentinels have it. With `sentinels` only.
   */
  readonly name?: string
  /**
   * Some nodes of a Redis Cluster as `host:port`, from which the others are found.
   */
  readonly nodes?: readonly string[]
  /**
   * User of Redis; without it, its default user.
   */
  readonly username?: string
  /**
   * Password of that user.
   */
  readonly password?: string
  /**
   * User of the sentinels, where they have users of their own.
   */
  readonly sentinelUsername?: string
  /**
   * Password for the sentinels; that of Redis is not tried there.
   */
  readonly sentinelPassword?: string
  /**
   * Number of the database. A Redis Cluster has one only.
   */
  readonly database?: number
  /**
   * TLS to Redis, and to its sentinels: `true` with the authorities of the system, or a map. Its files are read when the gateway starts.
   */
  readonly tls?: ClusterRedisTlsConfig | boolean
}
/**
 * Certificates for a Redis. Files are PEM, relative to the configuration file.
 */
export interface ClusterRedisTlsConfig {
  /**
   * The authority of its certificate; without it, those of the system.
   */
  readonly ca?: string
  /**
   * A certificate to show to Redis, where it asks for one.
   */
  readonly cert?: string
  /**
   * The private key of `cert`.
   */
  readonly key?: string
  /**
   * What `key` is encrypted with.
   */
  readonly passphrase?: string
}
/**
 * How lists are fitted to clients.
 */
export interface FitConfig {
  /**
   * Name under which clients have this gateway in their settings: most put it before the names of tools.
   */
  readonly server: string
  /**
   * What clients can read where that differs from the table of the gateway, by a glob for the name by which they introduce themselves; the first that matches counts.
   */
  readonly clients?: {
    readonly [k: string]: FitClientConfig
  }
  /**
   * How resources reach clients that show none, as the table or `clients` says: `asTools` gives those tools that list and read them, `no` nothing.
   */
  readonly resources: 'asTools' | 'no'
  /**
   * How prompts reach clients that show none, as the table or `clients` says: `asTools` gives those tools that list and get them, `no` nothing.
   */
  readonly prompts: 'asTools' | 'no'
}
/**
 * What one client can read.
 */
export interface FitClientConfig {
  /**
   * The client of the table that it is like; what is not said here is as there. Without it, as for clients that nobody knows.
   */
  readonly like?: string
  /**
   * Most characters of a tool's name, with what the client puts before it.
   */
  readonly longestName?: number
  /**
   * What the client puts before names of tools; `{server}` is the name of this gateway.
   */
  readonly prefix?: string
  /**
   * The schemas that the model behind it takes: all (`full`), those of one vendor, or what is known to be refused by somebody taken out (`common`).
   */
  readonly dialect?: 'full' | 'common' | 'anthropic' | 'openai' | 'gemini'
  /**
   * Most tools that it takes; more are reported, and shown all the same.
   */
  readonly mostTools?: number
  /**
   * How long it waits for the answer of a call, for `shape.patience: client`.
   */
  readonly patience?: string | number
  /**
   * Most tokens of a result that it takes whole, for `shape.maxTokens: client`.
   */
  readonly largestResult?: number
  /**
   * True if it shows resources.
   */
  readonly resources?: boolean
  /**
   * True if it shows prompts.
   */
  readonly prompts?: boolean
  /**
   * Characters of names that it takes: letters, digits, `_` and `-` (`word`), or `any`.
   */
  readonly characters?: 'word' | 'any'
}
/**
 * Serves figures for Prometheus on every HTTP listener.
 */
export interface MetricsConfig {
  /**
   * Where they are served.
   */
  readonly path: string
  /**
   * Listeners that serve them; all HTTP listeners when absent.
   */
  readonly listeners?: readonly string[]
  /**
   * How many tools, prompts and resources of each server have a series of their own, in the order in which they are called first; all others are `other`.
   */
  readonly tools: number
  /**
   * Upper bounds of the duration histogram, in seconds.
   */
  readonly buckets: readonly number[]
}
/**
 * How people show who they are in a browser, where upstreams have a login of each caller.
 */
export interface OAuthConfig {
  readonly person?: OAuthPersonConfig
}
/**
 * The identity provider at which callers with tokens log in before the gateway logs in to a server for them: the one that their tokens are from. Its `sub` must be that of the token. Register `<publicUrl>/oauth/person` there as redirect URI.
 */
export interface OAuthPersonConfig {
  /**
   * Its issuer, to the letter; one of `auth.jwt`.
   */
  readonly issuer: string
  /**
   * The `client_id` of the gateway there.
   */
  readonly clientId: string
  /**
   * Its secret, for a confidential client.
   */
  readonly clientSecret?: string
}
/**
 * How full the process may be: of its heap limit (`--max-old-space-size`) less 24 MiB, which a collection near the end needs, and of the memory of its container or machine. It looks four times a second.
 */
export interface OverloadConfig {
  /**
   * Percent from where on a connection ends with its answer.
   */
  readonly keepAlive: number
  /**
   * Percent from where on a request is refused, over HTTP with 503 and Retry-After; probes and `/metrics` are answered.
   */
  readonly refuse: number
  /**
   * Requests are refused when the event loop was late by this much three times in a row; `0` for never.
   */
  readonly lag: string | number
}
/**
 * Who may do what, by expressions over the caller, the tool, its arguments and the time. A rule of `deny` that is true refuses; every rule of `require` that fits must be true; with any rule in `allow`, one of them must be true; and for what is left, a rule of `ask` that is true asks a person first. A rule that fails counts against the caller.
 */
export interface PolicyConfig {
  /**
   * Calls that are refused: where one of these is true, or fails.
   *
   * Items: An expression in CEL, or a map that says for which tools it is.
   */
  readonly deny: (PolicyRuleConfig | string)[]
  /**
   * Calls that a person decides about, of those that are allowed otherwise: where one of these is true, or fails. Without `approve` they are refused.
   *
   * Items: An expression in CEL, or a map that says for which tools it is.
   */
  readonly ask: (PolicyRuleConfig | string)[]
  /**
   * Conditions that every call must meet.
   *
   * Items: An expression in CEL, or a map that says for which tools it is.
   */
  readonly require: (PolicyRuleConfig | string)[]
  /**
   * Calls that are allowed. Without any rule here everything is, and with one nothing else.
   *
   * Items: An expression in CEL, or a map that says for which tools it is.
   */
  readonly allow: (PolicyRuleConfig | string)[]
  /**
   * Headers of HTTP requests that expressions may read as `request.headers`; never those with credentials.
   *
   * Items: A name.
   */
  readonly headers: readonly string[]
}
/**
 * A rule for some tools.
 */
export interface PolicyRuleConfig {
  /**
   * Tools that it is about, by the names that clients see.
   */
  readonly for?: string | readonly string[]
  /**
   * Condition in CEL, true or false.
   */
  readonly when: string
  /**
   * Name of the rule, for refusals, logs and metrics. Default: its place, such as `deny[0]`.
   */
  readonly name?: string
  /**
   * Scopes that are wanted: a caller that has all of them is not refused by this rule, and any other is told which ones it lacks. In `allow` the rule is for callers that have them; `ask` has none.
   *
   * Items: A scope.
   */
  readonly scopes?: readonly string[]
}
/**
 * One view of the gateway: at `<path>/<name>` of HTTP listeners, where a listener names it, and for the callers it names. A profile called `default` is for everybody who has no other.
 */
export interface ProfileConfig {
  /**
   * The upstreams it shows; without this key all, and what comes of others is unknown to it.
   */
  readonly upstreams?: readonly string[]
  readonly tools?: ProfileFilterConfig
  readonly prompts?: ProfileFilterConfig
  readonly resources?: ProfileFilterConfig
  /**
   * Other prefixes for the tools and prompts of upstreams, in this view only.
   */
  readonly prefixes?: {
    /**
     * What the names of its tools and prompts begin with. Default: the upstream's name and two underscores; an empty string means none. Resource URIs are kept as they are.
     */
    readonly [k: string]: string
  }
  /**
   * Which protocol eras single HTTP requests for this view may be of, in place of what the listener says.
   */
  readonly eras?: 'auto' | 'both' | 'legacy'
  /**
   * What clients are told about the use of this view, in place of what the gateway says otherwise.
   */
  readonly instructions?: string
  /**
   * Verified callers, as `<subject>` or `<issuer> <subject>`; subjects are globs. A subject alone is that of an API key; without any keys, of a token of the only issuer. These get the profile without asking for it, the first that fits, and nobody else may have it. Without this key it is for anybody who names it.
   */
  readonly principals?: readonly string[]
  readonly fit?: FitProfileConfig
  readonly shape?: ShapeRule
  readonly surface?: SurfaceProfileConfig
}
/**
 * Which names are shown, as clients know them; `deny` wins.
 */
export interface ProfileFilterConfig {
  /**
   * Only what one of these globs matches is visible and callable. Absent means everything, an empty list nothing.
   */
  readonly allow?: readonly string[]
  /**
   * What one of these globs matches is neither visible nor callable, even where `allow` names it.
   */
  readonly deny?: readonly string[]
}
/**
 * What is otherwise in this profile than `fit` says.
 */
export interface FitProfileConfig {
  /**
   * How resources reach clients that show none, as the table or `clients` says: `asTools` gives those tools that list and read them, `no` nothing.
   */
  readonly resources?: 'asTools' | 'no'
  /**
   * How prompts reach clients that show none, as the table or `clients` says: `asTools` gives those tools that list and get them, `no` nothing.
   */
  readonly prompts?: 'asTools' | 'no'
}
/**
 * What is otherwise in this profile than `surface` says.
 */
export interface SurfaceProfileConfig {
  readonly mode?: SurfaceMode
  readonly budget?: SurfaceBudget
  readonly pinned?: SurfacePinned
  readonly results?: SurfaceResults
  readonly choices?: SurfaceChoices
}
/**
 * How much one caller may use. A refusal says when to come back.
 */
export interface RateLimitConfig {
  /**
   * Limits by name. Each one counts for itself; a request must be within all that match.
   */
  readonly rules: {
    readonly [k: string]: RateLimitRuleConfig
  }
  /**
   * While a day cannot be counted, because a disk is full or Redis is away: refuse the calls that it counts, or answer them uncounted. Lists and other reading go on either way.
   */
  readonly onFailure: 'refuse' | 'continue'
  /**
   * Directory for what must outlive a restart (day quotas), relative to the configuration; gateways of one machine that name the same one count together. Default: the state directory, or `.gateway` beside the configuration where there is none.
   */
  readonly state?: string
}
/**
 * What is counted, for whom, and how much of it is allowed.
 */
export interface RateLimitRuleConfig {
  /**
   * Who or what has a count of its own; several mean each combination, none means one count for all. A 2026-07-28 request over HTTP has no session: there it is the principal.
   */
  readonly per: ('principal' | 'session' | 'tool' | 'upstream')[]
  /**
   * Only these callers, as `<subject>` or `<issuer> <subject>`; subjects are globs. A subject alone is that of an API key; without any keys, of a token of the only issuer.
   */
  readonly principals?: string | readonly string[]
  /**
   * Only clients of these profiles.
   */
  readonly profiles?: string | readonly string[]
  /**
   * Only calls of these tools, by the names that clients see.
   */
  readonly tools?: string | readonly string[]
  /**
   * Only what goes to these upstreams.
   */
  readonly upstreams?: string | readonly string[]
  /**
   * Most in any 60 seconds, over all workers and replicas.
   */
  readonly perMinute?: number
  /**
   * Most in a day (UTC). Kept on disk, so that a restart forgets nothing; with `cluster` in Redis.
   */
  readonly perDay?: number
  /**
   * With `cluster`, while Redis is away: `share` has each replica allow its part of `perMinute`, `refuse` refuses what is not reserved yet. A day is refused either way, unless `onFailure` says otherwise.
   */
  readonly onStoreLoss: 'share' | 'refuse'
  /**
   * Most at the same time, also of those that go on for a task. A call whose client is asked something is none. With `cluster`, at each replica.
   */
  readonly inFlight?: number
}
/**
 * Secrets and personal data that are taken out of what clients send and servers answer.
 */
export interface RedactConfig {
  /**
   * What is looked for, and where; all that fit a call apply, in order.
   */
  readonly rules: readonly RedactRule[]
  /**
   * Detectors of your own, by name: regular expressions of RE2, which take time in proportion to the text.
   */
  readonly expressions: {
    readonly [k: string]: string
  }
}
/**
 * What is looked for in the messages of some tools.
 */
export interface RedactRule {
  /**
   * Globs of the names of tools and prompts as clients see them, and of URIs of resources.
   */
  readonly for: readonly string[]
  /**
   * Detectors: `api-key`, `token`, `private-key`, `url-password`, together `secrets`; `email`, `card`, `iban`, `phone`, together `personal`; and those of `expressions`.
   */
  readonly detect: readonly string[]
  /**
   * Directions: `arguments` are what clients send, `results` what servers answer, tell and log.
   */
  readonly in: ('arguments' | 'results')[]
  /**
   * `replace` writes `[redacted:email]` in its place, `mask` leaves a few letters to tell two from each other, `refuse` passes nothing on.
   */
  readonly action: 'replace' | 'mask' | 'refuse'
}
/**
 * Tools over plain HTTP, for programs that do not speak MCP: `GET /tools`, `POST /tools/call` and `GET /openapi.json`, and the same below `/<profile>`. Under the same filters, limits and callers as MCP.
 */
export interface RestConfig {
  /**
   * What these paths begin with.
   */
  readonly path: string
  /**
   * The HTTP listeners that serve them; without this key all.
   */
  readonly listeners?: readonly string[]
}
/**
 * All of the given conditions must hold; none at all matches every request.
 */
export interface RouteMatch {
  /**
   * Exposed name of the tool called.
   */
  readonly tool?: string | readonly string[]
  /**
   * Exposed name of the prompt.
   */
  readonly prompt?: string | readonly string[]
  /**
   * URI of the resource.
   */
  readonly resource?: string | readonly string[]
  /**
   * MCP method.
   */
  readonly method?: string | readonly string[]
  /**
   * Name the client gives itself. Anyone can claim any name: no basis for security.
   */
  readonly client?: string | readonly string[]
  /**
   * The verified caller, as `<subject>` or `<issuer> <subject>`; subjects are globs. A subject alone is that of an API key; without any keys, of a token of the only issuer.
   */
  readonly principal?: string | readonly string[]
}
/**
 * Tells HTTP upstreams which client session a request belongs to, so that they can keep sessions apart.
 */
export interface SessionHeadersConfig {
  /**
   * Name of the header.
   */
  readonly header: string
  /**
   * HTTP upstreams that get it.
   */
  readonly upstreams: readonly string[]
}
/**
 * Results brought into a form that fits a model, and calls that take longer than a client waits.
 */
export interface ShapeConfig {
  /**
   * JMESPath expression: what of the result is given on, such as `items[].{title: title, url: url}`.
   */
  readonly pick?: string
  /**
   * Paths that are left out of the result: names with dots between them, `*` for every member, `[]` for every item.
   */
  readonly drop?: readonly string[]
  /**
   * Most that one result may be, in tokens (bytes by 3.6), or `client` for what is known of the client that asks. Over it lists lose items and text its middle, and the whole is kept for the caller.
   */
  readonly maxTokens?: number | string
  /**
   * Lets callers say by an added argument `_pick` what they want of a result.
   */
  readonly ask?: boolean
  /**
   * Time after which a call that is not answered goes on by itself, or `client` for nine tenths of what is known of the client that calls: as a task where the client knows tasks, and elsewhere behind a handle for the tool `result`.
   */
  readonly patience?: string | number
  /**
   * The same keys for some tools, by globs of the names that clients see; the first that fits counts.
   */
  readonly tools?: {
    readonly [k: string]: ShapeRule
  }
  /**
   * Bounds of what is kept of results that were cut.
   */
  readonly keep: {
    /**
     * Memory for all callers together.
     */
    readonly bytes: string | number
    /**
     * Memory for one caller: his oldest results give way to his new ones, and a result that is larger alone is not kept.
     */
    readonly share: string | number
    /**
     * Time for which a handle can be used.
     */
    readonly for: string | number
  }
  /**
   * Prefix of the names of the tools `read_result` and `result`.
   */
  readonly prefix: string
}
/**
 * How many tools clients are shown at once. Whatever is not shown can be found by `search_tools`, and stays callable by its name.
 */
export interface SurfaceConfig {
  readonly mode: SurfaceMode
  readonly budget: SurfaceBudget
  readonly pinned: SurfacePinned
  readonly results: SurfaceResults
  readonly choices: SurfaceChoices
  readonly code: SurfaceCode
  /**
   * The mode for clients by the name they say, as globs; the first that fits. It wins over the mode of a profile, and `choices` over it.
   */
  readonly clients: {
    readonly [k: string]: SurfaceMode
  }
}
/**
 * Limits of one script of `run_code`, in the mode `code`. It runs in an engine and a thread of its own, without files, network or timers.
 */
export interface SurfaceCode {
  /**
   * Time of a script, the calls of tools in it included.
   */
  readonly timeout: string | number
  /**
   * Tools that a script may call, each of them a call like any other for rules, limits and the audit.
   */
  readonly calls: number
  /**
   * Memory of the values of a script.
   */
  readonly memory: string | number
}
/**
 * What is visible of all upstreams together. Names are the exposed ones, with prefix.
 */
export interface FiltersConfig {
  readonly tools?: ToolsFilterConfig
  readonly prompts?: FilterConfig
  readonly resources?: ResourceFilterConfig
}
/**
 * What is visible of all tools, and under which name and description.
 */
export interface ToolsFilterConfig {
  /**
   * Only what one of these globs matches is visible and callable. Absent means everything, an empty list nothing.
   */
  readonly allow?: readonly string[]
  /**
   * What one of these globs matches is neither visible nor callable, even where `allow` names it.
   */
  readonly deny?: readonly string[]
  /**
   * New names by old name.
   */
  readonly rename?: {
    readonly [k: string]: string
  }
  /**
   * Descriptions that replace the server's own, by name.
   */
  readonly describe?: {
    readonly [k: string]: string
  }
  readonly override?: ToolOverrides
}
/**
 * Sends a span for each request, and for each try at a server, to an OpenTelemetry collector by OTLP over HTTP. What is not said here is taken from the variables `OTEL_*`.
 */
export interface TracingConfig {
  /**
   * URL of the collector; `/v1/traces` is added unless it ends in it. Without it `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT`, or `http://localhost:4318`.
   */
  readonly endpoint?: string
  /**
   * Headers of each request to the collector. Without them `OTEL_EXPORTER_OTLP_TRACES_HEADERS` or `OTEL_EXPORTER_OTLP_HEADERS`.
   */
  readonly headers?: {
    readonly [k: string]: string
  }
  /**
   * How long the collector may take for one batch. Without it `OTEL_EXPORTER_OTLP_TIMEOUT`, or 10 seconds.
   */
  readonly timeout?: string | number
  /**
   * Name of this gateway in traces (`service.name`). Without it `OTEL_SERVICE_NAME`, or `server.name`.
   */
  readonly service?: string
  /**
   * More attributes of this gateway, beside those of `OTEL_RESOURCE_ATTRIBUTES`.
   */
  readonly resource?: {
    readonly [k: string]: string
  }
  /**
   * Which traces are recorded. `parentbased_…` does what the caller decided, and the rest where there is no caller. Without it `OTEL_TRACES_SAMPLER`, or `parentbased_always_on`, or `parentbased_traceidratio` where a `ratio` is said.
   */
  sampler?:
    | 'always_on'
    | 'always_off'
    | 'traceidratio'
    | 'parentbased_always_on'
    | 'parentbased_always_off'
    | 'parentbased_traceidratio'
  /**
   * Part of the traces that a `traceidratio` records. Without it `OTEL_TRACES_SAMPLER_ARG`, or 1.
   */
  readonly ratio?: number
  /**
   * How batches are packed. `gzip` makes a tenth of the bytes, for a collector that is far; it takes a span some 7 µs of processor time more, in another thread. Without it `OTEL_EXPORTER_OTLP_TRACES_COMPRESSION` or `OTEL_EXPORTER_OTLP_COMPRESSION`, or `none`.
   */
  readonly compression?: 'none' | 'gzip'
  /**
   * Names of spans and attributes: those of OpenTelemetry for MCP, which are in development.
   */
  readonly conventions: 'mcp-dev'
  /**
   * Tools whose arguments stand in their spans, as globs, by the names clients use; up to 8 KiB each, secrets of the configuration hidden.
   */
  readonly arguments?: string | readonly string[]
  /**
   * The same for results.
   */
  readonly results?: string | readonly string[]
  /**
   * Servers that get the `baggage` of callers, as globs. It may say who the user is; without this nobody gets it.
   */
  readonly baggage?: string | readonly string[]
  /**
   * How many spans may wait; what comes beyond them is dropped and counted.
   */
  readonly queue: number
  /**
   * How many spans go in one request at most.
   */
  readonly batch: number
  /**
   * How long a span waits for others at most.
   */
  readonly every: string | number
}
/**
 * A page at `/ui/` that shows what the gateway does, and its data for programs at `/ui/api/`. It is served on HTTP listeners of this machine alone, and on those that `auth` covers. `gateway ui` opens it.
 */
export interface UiConfig {
  /**
   * Where it is served. Behind a proxy that leaves a prefix of its own in front, that belongs here too.
   */
  readonly path: string
  /**
   * The HTTP listeners that serve it; without this key all that may.
   */
  readonly listeners?: readonly string[]
  /**
   * The scope that a caller known by `auth` needs to look at the page. The page shows the calls of all callers.
   */
  readonly readScope: string
  /**
   * The scope that it needs, besides, to change anything: to start servers, purge the cache, decide about approvals, call tools.
   */
  readonly actScope: string
  /**
   * How long a browser stays logged in.
   */
  readonly session: string | number
  /**
   * How many calls are kept in memory to be looked at; the oldest go.
   */
  readonly calls: number
  /**
   * Tools and prompts, by the names clients use, of which arguments and results are kept with the call, up to 4 KiB each, secrets of the configuration hidden. Of others the names and types of arguments are kept.
   */
  readonly values?: string | readonly string[]
}
