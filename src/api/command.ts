import type { Config } from '../config/config.gen.ts'
import type { JsonObject } from '../protocol/json/json.ts'

/** Commands by the words after `gateway`, such as `cache ls`. */
export type PluginCommands = Readonly<Record<string, PluginCommand>>

/** A plugin's command. `--help` and completion read the data; only `run` has effects. */
export interface PluginCommand {
  /** One sentence. */
  readonly summary: string
  /** Text below the usage, such as exit codes. */
  readonly description?: string
  /** Replaces the generated `Usage:` line. */
  readonly usage?: string
  readonly examples?: readonly string[]
  /** Positional arguments, in order. */
  readonly args?: Readonly<Record<string, CommandArgument>>
  /** True if further words are allowed (`call.rest`). */
  readonly takesRest?: boolean
  readonly flags?: Readonly<Record<string, CommandFlag>>
  /**
   * Which gateway the command uses; adds flags. `running`: `--config`, `--env`, `--socket`. `any`: the running
   * gateway or one for this command; also `--set`. `configuration`: `--config`, `--env`, `--set`.
   */
  readonly gateway?: 'running' | 'any' | 'configuration'
  /** Runs the command; returns the exit code (default 0). Load dependencies here. */
  run(call: CommandCall): Promise<number | void>
}

/** A positional argument. */
export interface CommandArgument {
  readonly description: string
  readonly required?: boolean
  readonly options?: readonly string[]
}

/** A flag. */
export interface CommandFlag {
  readonly summary: string
  /** Default `string`. */
  readonly type?: 'string' | 'boolean'
  /** One letter, for `-a`. */
  readonly char?: string
  /** Placeholder in the help, such as `<file>`; completion supports `<file>` and `<directory>`. */
  readonly value?: string
  readonly options?: readonly string[]
  /** True if the flag may be repeated; the value is a list. */
  readonly multiple?: boolean
  readonly required?: boolean
  /** Flags that cannot be combined with it. */
  readonly exclusive?: readonly string[]
}

/** Flag for output to people, programs and CI: `CommandCall.print` follows it. */
export const FORMAT_FLAG = {
  options: ['text', 'json', 'sarif', 'github', 'junit'],
  value: '<format>',
  summary: 'text (default), json, sarif (code scanning), github (annotations) or junit (test report).',
} satisfies CommandFlag

/** The parsed command line and the services of a command. */
export interface CommandCall {
  readonly args: Readonly<Record<string, string | undefined>>
  readonly rest: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly out: CommandOutput
  readonly err: CommandOutput
  /** Prints the value with `--json`, else the lines; the findings with a flag `format` of sarif, github or junit. */
  print(value: unknown, lines: () => readonly string[], findings?: () => readonly CommandFinding[]): void
  /** Prints one item of a sequence; with `--json`, one JSON Lines record. */
  printNext(value: unknown, lines: () => readonly string[]): void
  /** Formats rows as aligned lines. */
  table(rows: readonly (readonly string[])[], indent?: number): string[]
  /**
   * Reads a YAML or JSON file; the path is relative to `cwd`.
   * @throws GatewayError GW_USAGE if it cannot be read
   */
  readData(file: string): Promise<unknown>
  /** Loads and validates the configuration that the flags select. */
  load(): Promise<CommandConfig>
  /**
   * Calls control verbs of a gateway. `running`: the running gateway. `one`: any of several gateways with this
   * configuration. The others use the running gateway, or start one until `use` settles: `alone` without servers,
   * `whole` with servers, `unstarted` with plugins but no server started.
   */
  withGateway<T>(
    which: 'running' | 'one' | 'unstarted' | 'alone' | 'whole',
    use: (ask: AskGateway) => Promise<T>,
  ): Promise<T>
  /** True if the command runs at a terminal, so that `promptForm` works. */
  readonly canAsk: boolean
  /**
   * Prompts at the terminal for the values of a JSON Schema; undefined if the user declines or there is no terminal.
   */
  promptForm(schema: unknown, signal?: AbortSignal): Promise<JsonObject | undefined>
  /** Opens an http or https page in the browser; false if there is no browser. */
  openBrowser(url: string): boolean
  /** Calls `stop` on the first Ctrl-C; the second one exits the process. Returns a function that stops listening. */
  onInterrupt(stop: () => void): () => void
}

/** A result that CI shows at its place. Lines and columns begin at 1. */
export interface CommandFinding {
  /** Stable name, such as `config-invalid`. */
  readonly rule: string
  readonly level: 'error' | 'warning' | 'note'
  readonly message: string
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
}

/** Calls one control verb of a gateway. */
export type AskGateway = (verb: string, params?: JsonObject) => Promise<JsonObject>

/** Command configuration. */
export interface CommandConfig {
  readonly config: Config
  /** The plugin's options or section. */
  readonly options: unknown
  /** Base for relative paths. */
  readonly directory: string
}

/** Standard output or standard error. */
export interface CommandOutput {
  /** Writes text and a line end. */
  line(text?: string): void
  /** Colors text if colors are enabled: `paint('dim', 'agent')`. */
  paint(style: CommandStyle, text: string): string
  /** Terminal columns; undefined without a terminal. */
  readonly width: number | undefined
}

/** Terminal text style. */
export type CommandStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan'
