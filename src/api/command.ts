import type { Config } from '../config/config.gen.ts'
import type { JsonObject } from '../protocol/json/json.ts'

/** Commands by what is typed after `gateway`: `cache ls`. */
export type PluginCommands = Readonly<Record<string, PluginCommand>>

/** A command of a plugin, as data: `--help` and completion read it, and only `run` does something. */
export interface PluginCommand {
  /** One sentence. */
  readonly summary: string
  /** More, under the usage: exit codes, for example. */
  readonly description?: string
  /** The line after `Usage:`, where the one that is made of the flags says too little. */
  readonly usage?: string
  readonly examples?: readonly string[]
  /** Words after the command, in order. */
  readonly args?: Readonly<Record<string, CommandArgument>>
  /** Takes any number of words more: `call.rest`. */
  readonly takesRest?: boolean
  readonly flags?: Readonly<Record<string, CommandFlag>>
  /**
   * The gateway that it is about, which decides on flags it gets by itself: `running` has `--config`, `--env` and
   * `--socket`; `any`, the running one or else one of its own, `--set` too; `configuration` `--config`, `--env` and `--set`.
   */
  readonly gateway?: 'running' | 'any' | 'configuration'
  /** Does it, and gives the exit code; default 0. Import here what it needs. */
  run(call: CommandCall): Promise<number | void>
}

/** A word that a command takes. */
export interface CommandArgument {
  readonly description: string
  readonly required?: boolean
  readonly options?: readonly string[]
}

/** A flag that a command takes. */
export interface CommandFlag {
  readonly summary: string
  /** Default `string`. */
  readonly type?: 'string' | 'boolean'
  /** One letter, for `-a`. */
  readonly char?: string
  /** Placeholder for its value in the help, such as `<file>`; completion knows `<file>` and `<directory>`. */
  readonly value?: string
  readonly options?: readonly string[]
  /** May be given again; its value is a list. */
  readonly multiple?: boolean
  readonly required?: boolean
  /** Flags that it does not go with. */
  readonly exclusive?: readonly string[]
}

/** Words that were typed, and the means of a command to act on them. */
export interface CommandCall {
  readonly args: Readonly<Record<string, string | undefined>>
  readonly rest: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly out: CommandOutput
  readonly err: CommandOutput
  /** Prints the value where `--json` was given, and otherwise the lines. */
  print(value: unknown, lines: () => readonly string[]): void
  /** Prints one of many that come one by one: with `--json` each is a line of its own (JSON Lines). */
  printNext(value: unknown, lines: () => readonly string[]): void
  /** Rows as aligned lines. */
  table(rows: readonly (readonly string[])[], indent?: number): string[]
  /**
   * A file of YAML or JSON as plain data; its path is relative to `cwd`.
   * @throws GatewayError GW_USAGE where it cannot be read
   */
  readData(file: string): Promise<unknown>
  /** The configuration that the flags mean, valid, with the options of this plugin. */
  load(): Promise<CommandConfig>
  /**
   * Asks a gateway by its verbs: `running` the one that runs; `one` whichever of several that run with the same configuration,
   * for what each of them knows; the others that one too, or else one for as long as `use`
   * takes: `alone` without its servers, `whole` with them, `unstarted` with all of its plugins and no server started.
   */
  withGateway<T>(
    which: 'running' | 'one' | 'unstarted' | 'alone' | 'whole',
    use: (ask: AskGateway) => Promise<T>,
  ): Promise<T>
  /** True where somebody sits at a terminal, whom `promptForm` can ask. */
  readonly canAsk: boolean
  /** Asks somebody at the terminal to fill in a JSON Schema; undefined where they decline, or nobody is there. */
  promptForm(schema: unknown, signal?: AbortSignal): Promise<JsonObject | undefined>
  /** Opens a page in the browser of whoever sits here; false where there is none. Only http and https. */
  openBrowser(url: string): boolean
  /** Calls `stop` at the first Ctrl-C; the next one ends the process. Returns how to stop listening. */
  onInterrupt(stop: () => void): () => void
}

/** One verb of a gateway, as the control socket has it. */
export type AskGateway = (verb: string, params?: JsonObject) => Promise<JsonObject>

/** A configuration, for a command. */
export interface CommandConfig {
  readonly config: Config
  /** The options or the section of the plugin that has the command. */
  readonly options: unknown
  /** Base of relative paths. */
  readonly directory: string
}

/** One of the two streams that people read. */
export interface CommandOutput {
  /** Writes text and a line end. */
  line(text?: string): void
  /** Colours text where colours are wanted: `paint('dim', 'agent')`. */
  paint(style: CommandStyle, text: string): string
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined
}

/** A style of text, as terminals have it. */
export type CommandStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan'
