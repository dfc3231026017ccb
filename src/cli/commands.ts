import type { Command } from '@oclif/core/command'
import Call from './commands/call.ts'
import Completion from './commands/completion.ts'
import Help from './commands/help.ts'
import Import from './commands/import.ts'
import Inspect from './commands/inspect.ts'
import PluginNew from './commands/plugin/new.ts'
import Serve from './commands/serve.ts'
import Tools from './commands/tools.ts'
import Validate from './commands/validate.ts'
import Wrap from './commands/wrap.ts'

/** Every command by its id. They are thin; what they do is imported when they run. */
export const COMMANDS: Readonly<Record<string, Command.Class>> = {
  serve: Serve,
  validate: Validate,
  inspect: Inspect,
  tools: Tools,
  call: Call,
  wrap: Wrap,
  import: Import,
  'plugin:new': PluginNew,
  completion: Completion,
  help: Help,
}
