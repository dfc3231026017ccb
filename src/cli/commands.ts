import { builtins } from '../gateway/builtins.ts'
import type { CommandMap } from './command.ts'
import { QUERY_COMMANDS } from './commands/diagnostics.ts'
import { BACKGROUND_COMMANDS, SERVE_COMMANDS } from './commands/serve.ts'
import { CLIENT_COMMANDS, SERVER_COMMANDS } from './commands/servers.ts'
import { MISC_COMMANDS } from './commands/scaffold-and-help.ts'
import { CONTROL_COMMANDS } from './commands/control.ts'
import { loadPluginCommands } from './plugin-commands.ts'

/** All built-in commands by id. Implementations are imported when a command runs. */
export const COMMANDS: CommandMap = {
  ...SERVE_COMMANDS,
  ...QUERY_COMMANDS,
  ...BACKGROUND_COMMANDS,
  ...SERVER_COMMANDS,
  ...CLIENT_COMMANDS,
  ...CONTROL_COMMANDS,
  ...(await loadPluginCommands(builtins)),
  ...MISC_COMMANDS,
}
