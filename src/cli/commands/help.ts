import { loadHelpClass } from '@oclif/core/help'
import { string } from '@oclif/core/args'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'

export default class Help extends GatewayCommand {
  static override summary = 'Show help for a command.'
  static override examples = ['gateway help serve', 'gateway help plugin new']
  static override args = {
    command: string({ description: 'The command.', ignoreStdin: true }),
  }
  static override strict = false
  static override flags = JSON_FLAG

  async run(): Promise<void> {
    const { argv } = await this.parse(Help)
    const HelpClass = await loadHelpClass(this.config)
    const help = new HelpClass(this.config, this.config.pjson.oclif.helpOptions)
    await help.showHelp(argv as string[])
  }
}
