"""The report in Markdown: for the summary of a job, or a comment on a pull request."""

from donatree.reports.markdown.document import write as write
