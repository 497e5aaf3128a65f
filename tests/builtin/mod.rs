mod calculator;
mod file_escape;
mod file_interrupted;
mod file_read;
mod file_write;
mod in_a_list;
mod playground;
mod python;
